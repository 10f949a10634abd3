/* SPDX-License-Identifier: MIT */
/*
 * A connection to Firecracker's API, on the loop. Calls are made one after the other: the next call
 * is sent when the one before was answered. A guest may have taken over Firecracker. So its answers
 * are bounded, and the first thing that is no answer ends the connection.
 */
#ifndef BACKEND_FIRECRACKER_API_H
#define BACKEND_FIRECRACKER_API_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/loop.h"

struct api;

/* Called with the answer to a call. body: of the answer, borrowed; NULL if it has none. why: what
 * Firecracker refused, in its words, or that no answer came. */
typedef void api_answer_fn(void *data, const json_t *body, const struct error *why);

struct api_events {
	/* The connection cannot be used any more. Called once, after all calls without an answer
	 * have got one. silent: Firecracker closed it without a word, as it does when it ends. why:
	 * the message if Firecracker goes on. */
	void (*closed)(void *data, const struct error *why, bool silent);
	void *data;
};

/* Makes a connection. Takes over the connected socket. */
struct api *api_new(struct loop *loop, int fd, const struct api_events *events, struct error *err);
/* Returns whether the connection is closed. It is so already when open calls get an error as their
 * answer. */
bool api_is_closed(const struct api *api);
/* Sets the deadline for each call that is sent from now on, in place of LIMIT_API_MS. */
void api_set_deadline(struct api *api, enum limit limit);
/* Frees the connection. Accepts NULL. May be called in a callback. No callback is called after
 * this. */
void api_free(struct api *api);
/* Queues a call. Takes over the reference to body, also if it fails; NULL: no body. fn may be
 * NULL. */
int api_call(struct api *api, const char *method, const char *path, json_t *body, api_answer_fn *fn,
	     void *data, struct error *err);

#endif
