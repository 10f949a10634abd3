/* SPDX-License-Identifier: MIT */
/* The blocks of an answer that describe a recorded workspace. */
#ifndef SUPERVISOR_ANSWER_H
#define SUPERVISOR_ANSWER_H

#include "base/error.h"
#include "contract/request.h"
#include "contract/response.h"
#include "supervisor/commands/record.h"

/* mediation, artifacts and network, as far as the config declares them. */
int answer_declared(const struct config *config, struct response *response, struct error *err);
/* readiness, observed now, and result where result.json is there. */
int answer_live(const struct record *record, const struct config *config, struct response *response,
		struct error *err);

/* {guestReady, shellReady, resultReady, mediationReady}. shellReady of a running workspace is an
 * agent's round trip made now; nothing is started in the guest for it. */
json_t *readiness_json(const struct record *record, const struct config *config, struct error *err);

/* Waits until the live supervisor, where there is one, has looked at this process. A supervisor
 * looks at each process that opens a file of its machine, and can tell whose the process is only
 * while it runs (live/watch_opens.h). A command that has opened such a file and ends without this
 * would be told in the audit log as a stranger. Not under the command lock: the wait may take
 * LIMIT_CONTROL_REQUEST_MS. */
void await_look(const struct record *record);

#endif
