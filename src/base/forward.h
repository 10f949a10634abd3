/* SPDX-License-Identifier: MIT */
/*
 * A listener each of whose connections is joined to a connection that is made for it to somewhere
 * else. Where that is and how it is reached is the caller's business.
 */
#ifndef BASE_FORWARD_H
#define BASE_FORWARD_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/connecting.h"
#include "base/error.h"
#include "base/loop.h"

struct forward;

struct forward_spec {
	int listen_fd; /* non-blocking; becomes the forward's own, also on failure */
	unsigned most; /* connections at once; the next ones ... */
	bool refuse;   /* ... are closed at once, or else wait to be accepted */
	/* Whether a peer may connect; NULL: all may. */
	bool (*admits)(const struct sockaddr_storage *peer);
	/* Begins to reach the far side of fd, which stays the forward's, as reached_fn says; NULL:
	 * it cannot be. */
	void *(*reach)(void *data, int fd, reached_fn *done, void *done_data, struct error *err);
	void (*give_up)(void *attempt); /* before it is done */
	/* Of a connection that came to nothing; NULL: nobody wants to know. */
	void (*failed)(void *data, const struct error *why);
	void *data;
};

/* Accepts nothing before forward_open(), and nothing more after forward_shut(), which lets the
 * connections that are there go on. */
struct forward *forward_new(struct loop *loop, const struct forward_spec *spec, struct error *err);
int forward_open(struct forward *forward, struct error *err);
void forward_shut(struct forward *forward);
/* Connections that are there now. */
unsigned forward_count(const struct forward *forward);
/* Ends listener and connections. Accepts NULL; not from within reach, admits or failed. */
void forward_free(struct forward *forward);

#endif
