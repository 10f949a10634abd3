/* SPDX-License-Identifier: MIT */
/* The blocks of an answer that describe a recorded workspace. */
#ifndef SUPERVISOR_ANSWER_H
#define SUPERVISOR_ANSWER_H

#include "base/error.h"
#include "contract/request.h"
#include "contract/response.h"
#include "supervisor/commands/record.h"

/* Adds the blocks mediation, artifacts and network to the response, as far as the config declares
 * them. */
int answer_declared(const struct config *config, struct response *response, struct error *err);
/* Adds readiness, as it is observed now, and result if result.json exists. */
int answer_live(const struct record *record, const struct config *config, struct response *response,
		struct error *err);

/* Returns {guestReady, shellReady, resultReady, mediationReady}. For a running workspace shellReady
 * is found by an agent's round trip that is made now. Nothing is started in the guest for it. */
json_t *readiness_json(const struct record *record, const struct config *config, struct error *err);

/* Waits until the live supervisor, if there is one, has looked at this process. A supervisor looks
 * at each process that opens a file of its machine. It can tell whose the process is only while the
 * process runs (live/watch_opens.h). A command that has opened such a file and ends without this
 * wait would be a stranger in the audit log. Do not call this under the command lock: the wait may
 * take LIMIT_CONTROL_REQUEST_MS. */
void await_look(const struct record *record);

#endif
