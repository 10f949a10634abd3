/* SPDX-License-Identifier: MIT */
/*
 * A forward: a listener that joins each accepted connection to a new connection to a target. The
 * caller provides the functions that connect to the target.
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

/* A limit on the connections of several forwards together. The struct must not be moved or freed
 * while one of these forwards exists. */
struct forward_bound {
	unsigned most;	/* the largest number of connections that may be open at the same time */
	unsigned count; /* the number of connections that are open at present */
	struct list forwards;
};

struct forward_spec {
	int listen_fd; /* a non-blocking listener, which the forward closes, also if forward_new()
		        * fails */
	unsigned most; /* the largest number of connections that may be open at the same time */
	struct forward_bound *bound; /* a limit for this forward and others together; NULL: there is
				      * no such limit */
	bool refuse; /* true: connections beyond `most` are closed at once; false: they wait to be
		      * accepted */
	/* Returns true if this peer may connect. NULL: every peer may connect. */
	bool (*admits)(const struct sockaddr_storage *peer);
	/* Starts to connect to the target, for the accepted connection `fd`, which the forward will
	 * close. Returns the attempt. `done` is called with the result. Returns NULL with an error
	 * if no connection can be attempted. */
	void *(*reach)(void *data, int fd, reached_fn *done, void *done_data, struct error *err);
	void (*give_up)(void *attempt); /* cancels an attempt whose `done` was not called yet */
	/* Called when the connection to the target could not be made, or could not be joined. May
	 * be NULL. */
	void (*failed)(void *data, const struct error *why);
	void *data;
};

/* Initialises a bound for forwards that are made later. */
void forward_bound_init(struct forward_bound *bound, unsigned most);
/* Makes a forward, which does not accept connections yet. forward_open() makes it accept
 * connections. forward_shut() makes it stop accepting; connections that were already accepted go
 * on. */
struct forward *forward_new(struct loop *loop, const struct forward_spec *spec, struct error *err);
int forward_open(struct forward *forward, struct error *err);
void forward_shut(struct forward *forward);
/* Returns the number of connections that are open at present. */
unsigned forward_count(const struct forward *forward);
/* Closes the listener and the connections, and frees the forward. Accepts NULL. Must not be called
 * from reach, admits or failed. */
void forward_free(struct forward *forward);

#endif
