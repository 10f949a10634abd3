/* SPDX-License-Identifier: MIT */
/* The connections to one guest: which one a request takes, and when another is dialled. Any
 * thread. */
#ifndef CHANNEL_CONNECTIONS_H
#define CHANNEL_CONNECTIONS_H

#include <pthread.h>

#include "base/list.h"
#include "channel/shared_connection.h"

/* Quiet connections for requests of their own that are kept open. */
#define CONNECTIONS_IDLE 4

struct connections {
	pthread_mutex_t lock;
	int dirfd; /* the workspace's; borrowed */
	struct list shared;
	struct shared_connection *idle[CONNECTIONS_IDLE];
	size_t idle_count;
};

/* Not to be moved from then on. */
void connections_init(struct connections *connections, int dirfd);
/* No request may be under way. */
void connections_free(struct connections *connections);
/* shared_connection_run() on one of them: one of its own for what has callbacks, else one that up
 * to CALLS_MAX requests share. */
int connections_run(struct connections *connections, const struct shared_request *request,
		    struct microagent_result *out, struct error *err);

#endif
