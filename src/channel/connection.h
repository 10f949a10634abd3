/* SPDX-License-Identifier: MIT */
/* A connection to the guest's agent: the calls on it, and the socket for their bytes. None of these
 * functions waits for the guest. */
#ifndef CHANNEL_CONNECTION_H
#define CHANNEL_CONNECTION_H

#include "channel/calls.h"

struct connection {
	int fd;	    /* the socket; -1: there is no socket yet */
	bool ended; /* true: the peer has ended the connection; the calls may still have bytes that
		     * came before the end */
	struct calls calls;
};

/* Initialises a connection without a socket. The caller sets `fd` to a socket that has reached the
 * agent. */
void connection_init(struct connection *connection);
/* Initialises a connection with a new socket to <dirfd>/vsock.sock. Only the first call shows
 * whether the guest can be reached. Fails like sock_connect_at(). */
int connection_open(struct connection *connection, int dirfd, struct error *err);
void connection_close(struct connection *connection); /* ends the commands that still run on the
						       * connection */

/* Continues the resumable call of a broken connection over the new socket `fd`, and takes over
 * `fd`. */
int connection_resume(struct connection *connection, int fd, struct error *err);

/* Sends the queue until the socket takes no more. If the peer has closed the connection, drops the
 * queue and succeeds. The caller can then still read the last bytes of the peer (an exit, an
 * error), which say more than an error of this function. */
int connection_send(struct connection *connection, struct error *err);
/* Receives bytes that have arrived, by at most one recv(), and puts them into the calls. */
int connection_receive(struct connection *connection, struct error *err);

#endif
