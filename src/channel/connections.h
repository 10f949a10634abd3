/* SPDX-License-Identifier: MIT */
/* The connections to one guest. For each request a connection is chosen, or a new connection is
 * made. Any thread may use these functions. */
#ifndef CHANNEL_CONNECTIONS_H
#define CHANNEL_CONNECTIONS_H

#include <pthread.h>

#include "base/list.h"
#include "channel/shared_connection.h"

/* The greatest number of connections that are kept open although they are not shared and have no
 * request now. */
#define CONNECTIONS_IDLE 4

struct connections {
	pthread_mutex_t lock;
	int dirfd;	    /* a descriptor of the workspace's directory, borrowed */
	struct list shared; /* the connections that requests share */
	struct shared_connection *idle[CONNECTIONS_IDLE];
	size_t idle_count;
};

/* Initialises the struct, without a connection. The struct must not be moved in memory from then
 * on. */
void connections_init(struct connections *connections, int dirfd);
/* Closes all connections. No request may be under way. */
void connections_free(struct connections *connections);
/* Calls shared_connection_run() on one of the connections. A request with callbacks gets a
 * connection that no other request uses. Up to CALLS_MAX other requests share one connection. */
int connections_run(struct connections *connections, const struct shared_request *request,
		    struct microagent_result *out, struct error *err);

#endif
