/* SPDX-License-Identifier: MIT */
/* Makes the blocks of an answer that describe a recorded workspace. */
#ifndef SUPERVISOR_ANSWER_H
#define SUPERVISOR_ANSWER_H

#include "base/error.h"
#include "contract/request.h"
#include "contract/response.h"
#include "supervisor/commands/record.h"

/* Adds the blocks mediation, artifacts and network to the response. Leaves out a block if the
 * config does not have the field of the same name. */
int answer_declared(const struct config *config, struct response *response, struct error *err);
/* Adds the block readiness, as it is observed now, and the block result if result.json exists. */
int answer_live(const struct record *record, const struct config *config, struct response *response,
		struct error *err);

/* Returns {guestReady, shellReady, resultReady, mediationReady}. The caller releases the result.
 * For a running workspace, the function asks the guest's agent for the present value of shellReady.
 * The agent answers without starting a process. */
json_t *readiness_json(const struct record *record, const struct config *config, struct error *err);

/* If there is a live supervisor, waits until the live supervisor has looked at this process. A live
 * supervisor looks at each process that opens a file of its machine (live/watch_opens.h), and can
 * see the program of that process only while the process lives. If a command opens such a file and
 * ends without this wait, the audit log names an unknown process. The wait may take
 * LIMIT_CONTROL_REQUEST_MS, so this function must not be called under the command lock. */
void await_look(const struct record *record);

#endif
