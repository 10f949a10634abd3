/* SPDX-License-Identifier: MIT */
/*
 * A connection to Firecracker's API, driven by the loop. A call is sent only when all earlier calls
 * were answered. Answers are not trusted, since a guest may have taken over Firecracker. So the
 * length of an answer is limited, and bytes that are not an answer end the connection.
 */
#ifndef BACKEND_FIRECRACKER_API_H
#define BACKEND_FIRECRACKER_API_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/loop.h"

struct api;

/* Called with the answer to a call. `body` is the body of the answer, which is valid during the
 * call of this function; NULL: the answer has no body. If `why` is NULL, Firecracker has done what
 * the call asks for. Otherwise `why` is Firecracker's reason for a refusal, or says that no answer
 * came. */
typedef void api_answer_fn(void *data, const json_t *body, const struct error *why);

struct api_events {
	/* Called once, when the connection cannot be used any more. Before that, each call without
	 * an answer gets an error. `silent` is true if Firecracker has closed the connection, which
	 * it also does when it ends. `why` is the error to report if Firecracker has not ended. */
	void (*closed)(void *data, const struct error *why, bool silent);
	void *data;
};

/* Makes a connection. Takes over `fd`, which is a connected socket. */
struct api *api_new(struct loop *loop, int fd, const struct api_events *events, struct error *err);
/* Returns true if the connection is closed. The result is true already while the calls without an
 * answer get their error. */
bool api_is_closed(const struct api *api);
/* Sets the deadline of each call that is sent from now on. By default the deadline is
 * LIMIT_API_MS. */
void api_set_deadline(struct api *api, enum limit limit);
/* Frees the connection. Accepts NULL. May be called in a callback. No callback is called after this
 * function. */
void api_free(struct api *api);
/* Queues a call. Takes over `body`, even on failure. NULL means that the call has no body. `fn` may
 * be NULL. */
int api_call(struct api *api, const char *method, const char *path, json_t *body, api_answer_fn *fn,
	     void *data, struct error *err);

#endif
