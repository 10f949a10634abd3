/* SPDX-License-Identifier: MIT */
/* The wait of start and run for their live supervisor, and the answer they make of it. */
#ifndef SUPERVISOR_AWAIT_H
#define SUPERVISOR_AWAIT_H

#include "base/error.h"
#include "contract/response.h"
#include "supervisor/commands/record.h"

/*
 * Reads the live supervisor's report from the descriptor `report`. start: until `running`; run:
 * until the end of everything. Fills event, readiness and result of the response. Also when the
 * live supervisor dies without a word the end is recorded and, after --remove, the workspace gone.
 * told: ends when run is told to end (told_to_end.h); -1. By that and the end of the caller's lifeline
 * the live supervisor ends a run, and is killed when it does not.
 */
int await_live(struct record *record, int report, int told, enum accelerator accelerator,
	       struct response *response, struct error *err);

#endif
