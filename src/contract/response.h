/* SPDX-License-Identifier: MIT */
/*
 * The response of the protocol. The supervisor fills a struct response, and response_build() makes
 * the JSON document from it. command_table says which blocks the document may have.
 */
#ifndef CONTRACT_RESPONSE_H
#define CONTRACT_RESPONSE_H

#include <jansson.h>

#include "base/error.h"
#include "contract/state.h"

/* The blocks of a response. The struct owns the references. A block that is NULL is left out. */
struct response {
	const char *backend;
	json_t *event;
	json_t *host;
	json_t *kernel; /* facts about the default kernel of the cache; only together with `host` */
	json_t *verification;
	json_t *readiness;
	json_t *result;
	json_t *artifacts;
	json_t *mediation;
	json_t *network;
	json_t *shared_anyway;	  /* the shares that are allowed although a rule forbids them */
	json_t *confinement;	  /* how the VMM is confined; only if the VMM is not in a cell */
	json_t *cgroup_unlimited; /* the controllers of the requested cgroup that have no limits */
	json_t *architecture;	  /* the architecture of the machine */
	json_t *console_mode;	  /* the mode of the console; only while there is a console */
	json_t *hvsocket;	  /* the address of a Hyper-V machine, while it runs */
	json_t *term;		  /* only for a session with a limited lifetime: an object whose
				   * members are added to the answer */
};
void response_free(struct response *response);

/* Returns {identity, state, detail?, observedAt} as a new reference. `identity` is copied; `detail`
 * may be NULL; `observed_at` is a time by RFC 3339. Like all functions below, returns NULL if there
 * is no memory. */
json_t *event_json(const json_t *identity, enum state state, const char *detail,
		   const char *observed_at);
/* Returns one readiness signal {ready, observedAt?, detail?, error?}; NULL texts are left out. */
json_t *readiness_signal(bool ready, const char *observed_at, const char *detail,
			 const char *error);
/* Returns the readiness signal resultReady. `at`: the time at which the result was delivered. */
json_t *readiness_of_result(bool delivered, const char *at);
/* Returns a response with ok:true. The response has only those blocks that command_table allows for
 * the command. */
json_t *response_build(enum command command, const struct response *response);
/* Returns {ok:false, backend, event?, error, errorCode, errorReason?, errorSubject?}. `event` may
 * be NULL; the caller keeps its reference. */
json_t *response_failure(const char *backend, json_t *event, const struct error *error);
/* Returns the exit code of a supervisor: 0 for no error, 75 for ERR_UNAVAILABLE and ERR_TIMEOUT, 1
 * for any other error. */
int response_exit_code(const struct error *error);

#endif
