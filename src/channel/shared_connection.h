/* SPDX-License-Identifier: MIT */
/*
 * A connection on which several threads wait, each for its own command. No thread exists only to
 * read. The first thread that waits leads: it reads the messages for all threads until its own
 * command has ended, and wakes the threads whose commands have ended. Then it passes the lead to
 * one of the threads that still wait.
 *
 * When the guest breaks the protocol or the connection ends, every request on the connection fails
 * with an error that says why. The connection cannot be used any more.
 */
#ifndef CHANNEL_SHARED_CONNECTION_H
#define CHANNEL_SHARED_CONNECTION_H

#include "channel/calls.h"

struct shared_request {
	const struct microagent_exec *exec;
	const void *in; /* the bytes of stdin; NULL: no stdin */
	size_t in_len;
	size_t cap[CALL_OUTPUTS]; /* how many bytes of each output are kept */
	/* Functions that get the output. The output is then not kept. The waiting thread calls
	 * these functions with the connection's lock held, so the connection must not be shared.
	 * NULL: the output is kept. */
	const struct microagent_callbacks *callbacks;
	uint64_t deadline_ns; /* the deadline on clock_mono_ns(); UINT64_MAX: no deadline */
	int cancel;	      /* when this descriptor is readable, the command is ended; -1: no
			       * descriptor */
	bool hasty;	      /* true: at the deadline the call returns, and does not wait for the
			       * command's end */
};

struct shared_connection;
/* Connects to <dirfd>/vsock.sock. Only the first request shows whether the guest can be reached.
 * Fails like sock_connect_at(). */
struct shared_connection *shared_connection_new(int dirfd, struct error *err);
void shared_connection_free(struct shared_connection *shared); /* ends the commands that run;
								* accepts NULL */
/* Returns true if another request can be made on the connection. If the connection has no request
 * now, first reads the bytes that have arrived. */
bool shared_connection_is_usable(struct shared_connection *shared);
/* Returns true if the connection is as good as a new connection: it is usable, and has nothing more
 * to send. */
bool shared_connection_is_clean(struct shared_connection *shared);

/*
 * Runs a request and waits for the end of the command. ERR_TIMEOUT if the guest was not reached in
 * time, or has not reported the end of the command within CANCEL_MS after the deadline or the
 * cancel. After this error other requests on the connection go on, but no further request can be
 * made on it. The command is killed at the latest when the connection is freed.
 */
int shared_connection_run(struct shared_connection *shared, const struct shared_request *request,
			  struct microagent_result *out, struct error *err);

#endif
