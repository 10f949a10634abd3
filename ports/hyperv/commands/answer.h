/* SPDX-License-Identifier: MIT */
/* Functions that make the parts of an answer that describe a recorded workspace. */
#ifndef HYPERV_ANSWER_H
#define HYPERV_ANSWER_H

#include "contract/response.h"
#include "hyperv/store/record.h"

/* Documents that were read from the workspace under the lock: `result` is the workspace's result,
 * and `runtime` is the document for the answer's member `runtime`. */
struct told {
	json_t *result, *runtime; /* NULL: the document does not exist */
};
struct told answer_read(const struct record *record);
void told_free(struct told *told);

/* Adds the mediation that the config declares. Each command whose answer has a member for mediation
 * calls this. */
void answer_declared(const struct config *config, struct response *response);
/* Adds to the response: mediation, network, the readiness that is observed now, the result, and the
 * sockets by which a running machine is reached. This function asks the agent, so it must not be
 * called under the lock. */
int answer_live(const struct record *record, const struct config *config, const struct told *told,
		struct response *response, struct error *err);

#endif
