/* SPDX-License-Identifier: MIT */
/* The blocks of an answer that describe a recorded workspace. */
#ifndef SUPERVISOR_ANSWER_H
#define SUPERVISOR_ANSWER_H

#include "base/error.h"
#include "contract/request.h"
#include "contract/response.h"
#include "supervisor/commands/record.h"

/* Adds the blocks mediation, artifacts and network to the response. Each block is added only if the
 * config has the part of this name. */
int answer_declared(const struct config *config, struct response *response, struct error *err);
/* Adds readiness, as it is observed now, and result if result.json exists. */
int answer_live(const struct record *record, const struct config *config, struct response *response,
		struct error *err);

/* Returns {guestReady, shellReady, resultReady, mediationReady}, which the caller releases. For a
 * running workspace, the function asks the guest's agent now whether shellReady is true. The agent
 * starts no process for this question. */
json_t *readiness_json(const struct record *record, const struct config *config, struct error *err);

/* Waits until the live supervisor, if there is one, has looked at this process. A live supervisor
 * looks at each process that opens a file of its machine, and can see which program the process
 * runs only while the process lives (live/watch_opens.h). If a command opens such a file and ends
 * without this wait, the audit log names an unknown process. Must not be called under the command
 * lock, since the wait may take LIMIT_CONTROL_REQUEST_MS. */
void await_look(const struct record *record);

#endif
