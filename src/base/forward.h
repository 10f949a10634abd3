/* SPDX-License-Identifier: MIT */
/*
 * A listener that joins each of its connections to a new connection to somewhere else. The caller
 * decides where that is and how it is reached.
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
	int listen_fd; /* non-blocking; the forward takes it over, also on failure */
	unsigned most; /* connections at once; further ones ... */
	bool refuse;   /* ... are closed at once, or if this is false wait to be accepted */
	/* Returns whether a peer may connect; NULL: all may. */
	bool (*admits)(const struct sockaddr_storage *peer);
	/* Begins to reach the far side for the connection fd, which the forward still owns. done is
	 * called with the result. Returns NULL if the far side cannot be reached. */
	void *(*reach)(void *data, int fd, reached_fn *done, void *done_data, struct error *err);
	void (*give_up)(void *attempt); /* called before the attempt is done */
	/* Called for a connection that failed; NULL: not called. */
	void (*failed)(void *data, const struct error *why);
	void *data;
};

/* Makes a forward, which accepts nothing before forward_open(). After forward_shut() it accepts
 * nothing more, but its existing connections go on. */
struct forward *forward_new(struct loop *loop, const struct forward_spec *spec, struct error *err);
int forward_open(struct forward *forward, struct error *err);
void forward_shut(struct forward *forward);
/* Returns the number of present connections. */
unsigned forward_count(const struct forward *forward);
/* Ends the listener and the connections. Accepts NULL. Must not be called from reach, admits or
 * failed. */
void forward_free(struct forward *forward);

#endif
