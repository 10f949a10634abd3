/* SPDX-License-Identifier: MIT */
/*
 * The response: which blocks it may carry follows from command_table. The supervisor fills a
 * struct response and response_build() makes the one JSON document of it.
 */
#ifndef CONTRACT_RESPONSE_H
#define CONTRACT_RESPONSE_H

#include <jansson.h>

#include "base/error.h"
#include "contract/state.h"

/* References are owned by the struct; NULL leaves the block out. */
struct response {
	const char *backend;
	json_t *event;
	json_t *host;
	json_t *kernel; /* beside host only */
	json_t *verification;
	json_t *readiness;
	json_t *result;
	json_t *artifacts;
	json_t *mediation;
	json_t *network;
	json_t *shared_anyway;	  /* shares that override a rule */
	json_t *confinement;	  /* only where it is none of a cell */
	json_t *cgroup_unlimited; /* controllers of the cgroup that was asked for, without limits */
	json_t *architecture;	  /* the machine's */
	json_t *console_mode;	  /* only while there is a console */
	json_t *hvsocket;	  /* where a machine of Hyper-V's is reached, while it runs */
	json_t *term;		  /* of a session that was given an end: members of the answer */
};
void response_free(struct response *response);

/* {identity, state, detail?, observedAt}, new. identity is copied; detail may be NULL; observed_at
 * is RFC 3339. NULL without memory, as all builders here. */
json_t *event_json(const json_t *identity, enum state state, const char *detail,
		   const char *observed_at);
/* One readiness signal {ready, observedAt?, detail?, error?}; NULL texts are left out. */
json_t *readiness_signal(bool ready, const char *observed_at, const char *detail,
			 const char *error);
/* resultReady; at: when it was delivered. */
json_t *readiness_of_result(bool delivered, const char *at);
/* ok:true with exactly the blocks that command_table allows this command. NULL without memory. */
json_t *response_build(enum command command, const struct response *response);
/* {ok:false, backend, event?, error, errorCode, errorReason?, errorSubject?}. event may be NULL and
 * stays the caller's. */
json_t *response_failure(const char *backend, json_t *event, const struct error *error);
/* 0 ok, 75 for unavailable and timeout, else 1. */
int response_exit_code(const struct error *error);

#endif
