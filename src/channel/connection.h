/* SPDX-License-Identifier: MIT */
/* A connection to the guest's agent: the calls on it, and the socket for their bytes. Nothing here
 * waits. */
#ifndef CHANNEL_CONNECTION_H
#define CHANNEL_CONNECTION_H

#include "channel/calls.h"

struct connection {
	int fd;	    /* -1: none yet */
	bool ended; /* by the other side; earlier data may still be in the calls */
	struct calls calls;
};

/* Begins without a socket, for a connection that reaches the agent. */
void connection_init(struct connection *connection);
/* Begins with a new socket to <dirfd>/vsock.sock; the first call reaches the guest later. Errors as
 * from sock_connect_at(). */
int connection_open(struct connection *connection, int dirfd, struct error *err);
void connection_close(struct connection *connection); /* ends the commands that still run on it */

/* Continues the resumable call of a broken connection over another socket. */
int connection_resume(struct connection *connection, int fd, struct error *err);

/* Sends the queue until the socket takes no more. If the other side has closed, the queue is
 * dropped: the data that it sent before (an exit, an error) can still be read, and tell more. */
int connection_send(struct connection *connection, struct error *err);
/* Receives what is there into the calls, one piece at most. */
int connection_receive(struct connection *connection, struct error *err);

#endif
