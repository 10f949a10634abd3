/* SPDX-License-Identifier: MIT */
/* Functions that add the state of a recorded workspace to an answer. */
#ifndef HYPERV_ANSWER_H
#define HYPERV_ANSWER_H

#include "contract/response.h"
#include "hyperv/store/record.h"

/* JSON documents that were read from the workspace while the lock was held. `result` is the
 * workspace's result, and `runtime` is the document for the answer's member `runtime`. */
struct told {
	json_t *result, *runtime; /* NULL: the workspace has no such document */
};
struct told answer_read(const struct record *record);
void told_free(struct told *told);

/* Adds the mediation that the config declares to the response. Every command whose answer has a
 * member for mediation calls this function. */
void answer_declared(const struct config *config, struct response *response);
/* Adds to the response the mediation, the network, the present readiness, the result, and the
 * sockets of a running machine. This function waits for the agent, so the caller must not hold the
 * lock, which other commands need. */
int answer_live(const struct record *record, const struct config *config, const struct told *told,
		struct response *response, struct error *err);

#endif
