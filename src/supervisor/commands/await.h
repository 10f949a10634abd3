/* SPDX-License-Identifier: MIT */
/* Waits for the live supervisor of the commands start and run, and makes their answer from its
 * report. */
#ifndef SUPERVISOR_AWAIT_H
#define SUPERVISOR_AWAIT_H

#include "base/error.h"
#include "contract/response.h"
#include "supervisor/commands/record.h"

/*
 * Reads the live supervisor's report from the descriptor `report`. The command start reads until
 * the state is `running`. The command run reads until all processes of the machine have exited.
 * Fills in event, readiness and result of the response. If the live supervisor dies without a last
 * line, this function records the end, and removes the workspace if the option --remove was given.
 *
 * `told` is a pipe that ends when SIGTERM tells the command run to end (told_to_end.h); -1: there
 * is none. When `told` or the caller's lifeline ends, the live supervisor must end the machine of a
 * run. A live supervisor that does not end the machine in time is killed.
 */
int await_live(struct record *record, int report, int told, enum accelerator accelerator,
	       struct response *response, struct error *err);

#endif
