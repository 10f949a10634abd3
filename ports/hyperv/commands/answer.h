/* SPDX-License-Identifier: MIT */
/* The blocks of an answer that describe a recorded workspace. */
#ifndef HYPERV_ANSWER_H
#define HYPERV_ANSWER_H

#include "contract/response.h"
#include "hyperv/store/record.h"

/* What the files say, to be read under the lock: result, and what `runtime` is for. */
struct told {
	json_t *result, *runtime; /* NULL: there is none */
};
struct told answer_read(const struct record *record);
void told_free(struct told *told);

/* The mediation that the config declares, for each command that tells it. */
void answer_declared(const struct config *config, struct response *response);
/* mediation, network, readiness as observed now, result, and by which sockets a running machine is reached. An
 * agent is asked: not under the lock. */
int answer_live(const struct record *record, const struct config *config, const struct told *told,
		struct response *response, struct error *err);

#endif
