/* SPDX-License-Identifier: MIT */
/*
 * A forward: a listener that joins each connection it accepts to a new connection to the far side.
 * The owner of the forward gives the functions that reach the far side.
 */
#ifndef BASE_FORWARD_H
#define BASE_FORWARD_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/connecting.h"
#include "base/error.h"
#include "base/list.h"
#include "base/loop.h"

struct forward;

/* A bound for the connections of several forwards together. The struct must not be moved or freed
 * while one of these forwards exists. */
struct forward_bound {
	unsigned most;	/* the largest number of connections that may be open at once */
	unsigned count; /* the number of connections that are open now */
	struct list forwards;
};

struct forward_spec {
	int listen_fd; /* a non-blocking listener; the forward takes it over, also on failure */
	unsigned most; /* the largest number of connections that may be open at once */
	struct forward_bound *bound; /* a bound for this forward and others; NULL: no such bound */
	bool refuse; /* true: connections beyond `most` are closed at once; false: they wait to be
		      * accepted */
	/* Returns whether a peer may connect. NULL: all peers may. */
	bool (*admits)(const struct sockaddr_storage *peer);
	/* Begins to reach the far side for the connection `fd`, which the forward still owns.
	 * Returns the attempt; `done` is called with its result. Returns NULL if the far side
	 * cannot be reached. */
	void *(*reach)(void *data, int fd, reached_fn *done, void *done_data, struct error *err);
	void (*give_up)(void *attempt); /* ends an attempt whose `done` was not called yet */
	/* Is called when the far side could not be reached or joined. May be NULL. */
	void (*failed)(void *data, const struct error *why);
	void *data;
};

/* Makes a bound for forwards that are made later. */
void forward_bound_init(struct forward_bound *bound, unsigned most);
/* Makes a forward. forward_open() makes the forward accept connections. forward_shut() ends this,
 * but the connections that were accepted go on. */
struct forward *forward_new(struct loop *loop, const struct forward_spec *spec, struct error *err);
int forward_open(struct forward *forward, struct error *err);
void forward_shut(struct forward *forward);
/* Returns how many connections are open now. */
unsigned forward_count(const struct forward *forward);
/* Ends the listener and the connections. Accepts NULL. Must not be called from reach, admits or
 * failed. */
void forward_free(struct forward *forward);

#endif
