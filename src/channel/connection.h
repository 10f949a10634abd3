/* SPDX-License-Identifier: MIT */
/* A connection to the guest's agent: the calls on it, and the socket that their bytes go through,
 * without waiting. */
#ifndef CHANNEL_CONNECTION_H
#define CHANNEL_CONNECTION_H

#include "channel/calls.h"

struct connection {
	int fd;	    /* -1: none yet */
	bool ended; /* by the other side; what came before may still be in the calls */
	struct calls calls;
};

/* Without a socket, and for one that reaches the agent. */
void connection_init(struct connection *connection);
/* On a socket of its own to <dirfd>/vsock.sock; the guest is reached later, by the first call.
 * Errors as of sock_connect_at(). */
int connection_open(struct connection *connection, int dirfd, struct error *err);
void connection_close(struct connection *connection); /* ends what still runs on it */

/* Goes on over another socket with the resumable call that was begun on a broken one. */
int connection_resume(struct connection *connection, int fd, struct error *err);

/* Sends what is queued until the socket takes no more. Where the other side has closed it is
 * dropped: what that said before (an exit, an error) is still to be read, and says more. */
int connection_send(struct connection *connection, struct error *err);
/* Receives what is there, into the calls: a piece at most. */
int connection_receive(struct connection *connection, struct error *err);

#endif
