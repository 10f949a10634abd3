/* SPDX-License-Identifier: MIT */
/* The connections to one guest: chooses a connection for a request, and dials another one if
 * needed. Any thread may use this. */
#ifndef CHANNEL_CONNECTIONS_H
#define CHANNEL_CONNECTIONS_H

#include <pthread.h>

#include "base/list.h"
#include "channel/shared_connection.h"

/* Idle connections that no other request shares and that are kept open. */
#define CONNECTIONS_IDLE 4

struct connections {
	pthread_mutex_t lock;
	int dirfd; /* the workspace's directory; borrowed */
	struct list shared;
	struct shared_connection *idle[CONNECTIONS_IDLE];
	size_t idle_count;
};

/* Begins without a connection. The struct must not be moved from then on. */
void connections_init(struct connections *connections, int dirfd);
/* Closes all connections. No request may be under way. */
void connections_free(struct connections *connections);
/* Calls shared_connection_run() on one of the connections: a request with callbacks gets one of its
 * own, any other shares one with up to CALLS_MAX requests. */
int connections_run(struct connections *connections, const struct shared_request *request,
		    struct microagent_result *out, struct error *err);

#endif
