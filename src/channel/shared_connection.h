/* SPDX-License-Identifier: MIT */
/*
 * A connection on which any number of threads wait for their own commands. There is no reading
 * thread. The first thread that waits leads: it reads for all until its own command has ended,
 * wakes the threads whose commands have ended, and passes the lead to one of the others.
 *
 * When the guest breaks the protocol or the connection ends, every request on it fails with the
 * reason, and the connection is of no more use.
 */
#ifndef CHANNEL_SHARED_CONNECTION_H
#define CHANNEL_SHARED_CONNECTION_H

#include "channel/calls.h"

struct shared_request {
	const struct microagent_exec *exec;
	const void *in; /* bytes of stdin; NULL: no stdin */
	size_t in_len;
	size_t cap[CALL_OUTPUTS]; /* how many bytes of each output are kept */
	/* Gets the output instead. Called by the waiting thread, with the connection's lock held:
	 * only for connections that nobody shares. NULL: the output is kept. */
	const struct microagent_callbacks *callbacks;
	uint64_t deadline_ns; /* on the monotonic clock; UINT64_MAX: none */
	int cancel;	      /* when readable, the command is ended; -1: never */
	bool hasty;	      /* at the deadline the call returns without waiting for the command's
			       * end */
};

struct shared_connection;
/* Connects to <dirfd>/vsock.sock; the first request reaches the guest later. Errors as from
 * sock_connect_at(). */
struct shared_connection *shared_connection_new(int dirfd, struct error *err);
void shared_connection_free(struct shared_connection *shared); /* ends the commands that run;
								* accepts NULL */
/* Returns whether another request can be made on it. Reads what has arrived on an idle one. */
bool shared_connection_is_usable(struct shared_connection *shared);
/* Returns whether it is as good as new: usable, and with nothing left to send. */
bool shared_connection_is_clean(struct shared_connection *shared);

/*
 * Runs a request and waits for the end of the command. ERR_TIMEOUT if the guest was not reached in
 * time, or did not confirm the end of a command within CANCEL_MS after its deadline or
 * cancellation. Then other requests on the connection are not disturbed, but the connection takes
 * no more requests, and when it is freed the command is killed too.
 */
int shared_connection_run(struct shared_connection *shared, const struct shared_request *request,
			  struct microagent_result *out, struct error *err);

#endif
