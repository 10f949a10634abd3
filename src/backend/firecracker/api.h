/* SPDX-License-Identifier: MIT */
/*
 * A connection to Firecracker's API, on the loop. Calls are made one after the other: the next is
 * sent when the one before was answered. Firecracker is a program of others that a guest may have
 * taken over: what it answers is bounded, and the first thing that is no answer ends the
 * connection.
 */
#ifndef BACKEND_FIRECRACKER_API_H
#define BACKEND_FIRECRACKER_API_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/loop.h"

struct api;

/* body: of the answer, borrowed; NULL where it has none. why: what Firecracker refused, in its
 * words, or that no answer came. */
typedef void api_answer_fn(void *data, const json_t *body, const struct error *why);

struct api_events {
	/* The connection is of no use any more. Called once, after all calls that had no answer
	 * have got one. silent: Firecracker closed it without a word, as it does where it ends; why
	 * is what there is to say if it goes on. */
	void (*closed)(void *data, const struct error *why, bool silent);
	void *data;
};

/* Takes over the connected socket. */
struct api *api_new(struct loop *loop, int fd, const struct api_events *events, struct error *err);
/* In the answers that are none too. */
bool api_is_closed(const struct api *api);
/* For each call that is sent from now on, in place of LIMIT_API_MS. */
void api_set_deadline(struct api *api, enum limit limit);
/* Accepts NULL; also in a callback. Nobody is called any more. */
void api_free(struct api *api);
/* Queues a call; takes the reference to body over, also on failure (NULL: it has none). fn may be
 * NULL. */
int api_call(struct api *api, const char *method, const char *path, json_t *body, api_answer_fn *fn,
	     void *data, struct error *err);

#endif
