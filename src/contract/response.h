/* SPDX-License-Identifier: MIT */
/*
 * The response: command_table says which blocks it may have. The supervisor fills a struct
 * response, and response_build() makes the JSON document from it.
 */
#ifndef CONTRACT_RESPONSE_H
#define CONTRACT_RESPONSE_H

#include <jansson.h>

#include "base/error.h"
#include "contract/state.h"

/* The struct owns the references; NULL leaves the block out. */
struct response {
	const char *backend;
	json_t *event;
	json_t *host;
	json_t *kernel; /* only together with host */
	json_t *verification;
	json_t *readiness;
	json_t *result;
	json_t *artifacts;
	json_t *mediation;
	json_t *network;
	json_t *shared_anyway;	  /* shares that override a rule */
	json_t *confinement;	  /* only if the VMM is not in a cell */
	json_t *cgroup_unlimited; /* the controllers of the requested cgroup that have no limits */
	json_t *architecture;	  /* the architecture of the machine */
	json_t *console_mode;	  /* only while there is a console */
	json_t *hvsocket;	  /* the address of a Hyper-V machine, while it runs */
	json_t *term;		  /* only for a session with a limited lifetime: members of the
				   * answer */
};
void response_free(struct response *response);

/* Returns {identity, state, detail?, observedAt}, new. identity is copied; detail may be NULL;
 * observed_at is RFC 3339. Like all builders here it returns NULL without memory. */
json_t *event_json(const json_t *identity, enum state state, const char *detail,
		   const char *observed_at);
/* Returns one readiness signal {ready, observedAt?, detail?, error?}; NULL texts are left out. */
json_t *readiness_signal(bool ready, const char *observed_at, const char *detail,
			 const char *error);
/* Returns resultReady; at: when the result was delivered. */
json_t *readiness_of_result(bool delivered, const char *at);
/* Returns ok:true with exactly the blocks that command_table allows for this command. NULL without
 * memory. */
json_t *response_build(enum command command, const struct response *response);
/* Returns {ok:false, backend, event?, error, errorCode, errorReason?, errorSubject?}. event may be
 * NULL; its reference stays the caller's. */
json_t *response_failure(const char *backend, json_t *event, const struct error *error);
/* Returns 0 for no error, 75 for unavailable and timeout, else 1. */
int response_exit_code(const struct error *error);

#endif
