/* SPDX-License-Identifier: MIT */
/* A connection to the guest's agent: the calls on it, and the socket for their bytes. None of these
 * functions waits for the guest. */
#ifndef CHANNEL_CONNECTION_H
#define CHANNEL_CONNECTION_H

#include "channel/calls.h"

struct connection {
	int fd;	    /* -1: none yet */
	bool ended; /* the other side has ended the connection; bytes that it sent before may still
		     * be in the calls */
	struct calls calls;
};

/* Begins without a socket. The caller sets fd to a socket that has reached the agent. */
void connection_init(struct connection *connection);
/* Begins with a new socket to <dirfd>/vsock.sock. Whether the guest can be reached shows only when
 * the first call is sent. Fails like sock_connect_at(). */
int connection_open(struct connection *connection, int dirfd, struct error *err);
void connection_close(struct connection *connection); /* ends the commands that still run on it */

/* Continues the resumable call of a broken connection over `fd`, a new socket, which is taken
 * over. */
int connection_resume(struct connection *connection, int fd, struct error *err);

/* Sends the queue until the socket takes no more. If the other side has closed the connection, the
 * queue is dropped and this is no error: the bytes that the other side sent before (an exit, an
 * error) can still be read, and say more. */
int connection_send(struct connection *connection, struct error *err);
/* Receives bytes that have arrived, at most one piece, and puts them into the calls. */
int connection_receive(struct connection *connection, struct error *err);

#endif
