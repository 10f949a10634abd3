/* SPDX-License-Identifier: MIT */
/* How start and run wait for their live supervisor, and the answer that they make from its
 * report. */
#ifndef SUPERVISOR_AWAIT_H
#define SUPERVISOR_AWAIT_H

#include "base/error.h"
#include "contract/response.h"
#include "supervisor/commands/record.h"

/*
 * Reads the live supervisor's report from the descriptor `report`. start reads until `running`; run
 * reads until everything has ended. Fills event, readiness and result of the response. If the live
 * supervisor dies without a report, the end is recorded all the same, and with --remove the
 * workspace is removed.
 *
 * told: ends when run is told to end (told_to_end.h); -1: none. When told or the caller's lifeline
 * ends, the live supervisor ends a run. It is killed if it does not.
 */
int await_live(struct record *record, int report, int told, enum accelerator accelerator,
	       struct response *response, struct error *err);

#endif
