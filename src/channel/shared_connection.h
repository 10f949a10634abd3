/* SPDX-License-Identifier: MIT */
/*
 * A connection on which any number of threads wait for their own commands. There is no reading
 * thread. Whoever waits first leads: it reads for all until its own command has ended, wakes those
 * whose commands have, and leaves the lead to one of the others.
 *
 * When the guest breaks the protocol or the connection ends, every request on it fails with the
 * reason, and it is of no use any more.
 */
#ifndef CHANNEL_SHARED_CONNECTION_H
#define CHANNEL_SHARED_CONNECTION_H

#include "channel/calls.h"

struct shared_request {
	const struct microagent_exec *exec;
	const void *in; /* bytes of stdin; NULL: it has none */
	size_t in_len;
	size_t cap[CALL_OUTPUTS]; /* of what is kept, in bytes */
	/* Where output goes instead. Called by the waiting thread, with the connection's lock held:
	 * only for connections that nobody shares. NULL: it is kept. */
	const struct microagent_callbacks *callbacks;
	uint64_t deadline_ns; /* on the monotonic clock; UINT64_MAX: none */
	int cancel;	      /* when readable the command is ended; -1: never */
	bool hasty;	      /* at the deadline nothing more is waited for */
};

struct shared_connection;
/* Connects to <dirfd>/vsock.sock; the guest is reached later, by the first request. Errors as of
 * sock_connect_at(). */
struct shared_connection *shared_connection_new(int dirfd, struct error *err);
void shared_connection_free(struct shared_connection *shared); /* ends what runs; accepts NULL */
/* Whether another request can be made on it. Looks at what has arrived on a quiet one. */
bool shared_connection_is_usable(struct shared_connection *shared);
/* Whether it is as good as new: usable, and nothing is left to be sent. */
bool shared_connection_is_clean(struct shared_connection *shared);

/*
 * Waits for the end of the command. ERR_TIMEOUT when the guest was not reached in time, or did not
 * confirm the end of a command within CANCEL_MS after its deadline or cancellation; the others on
 * the connection are not disturbed, but it takes no more requests, and when it is freed the command
 * is killed too.
 */
int shared_connection_run(struct shared_connection *shared, const struct shared_request *request,
			  struct microagent_result *out, struct error *err);

#endif
