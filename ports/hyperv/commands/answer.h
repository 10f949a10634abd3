/* SPDX-License-Identifier: MIT */
/* The blocks of an answer that describe a recorded workspace. */
#ifndef HYPERV_ANSWER_H
#define HYPERV_ANSWER_H

#include "contract/response.h"
#include "hyperv/store/record.h"

/* The documents that were read from the workspace under the lock: the result, and the document for
 * the answer's `runtime`. */
struct told {
	json_t *result, *runtime; /* NULL: none */
};
struct told answer_read(const struct record *record);
void told_free(struct told *told);

/* Adds the mediation that the config declares. Each command whose answer has mediation calls
 * this. */
void answer_declared(const struct config *config, struct response *response);
/* Adds mediation, network, readiness as observed now, the result, and the sockets by which a
 * running machine is reached. This function asks the agent, so it must not be called under the
 * lock. */
int answer_live(const struct record *record, const struct config *config, const struct told *told,
		struct response *response, struct error *err);

#endif
