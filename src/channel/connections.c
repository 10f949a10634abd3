/* SPDX-License-Identifier: MIT */
#include "channel/connections.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct pooled {
	struct shared_connection *connection;
	size_t users;
	bool finished; /* true: no more requests are accepted, and the last user frees the
			* connection */
	struct list_link link;
};

void connections_init(struct connections *connections, int dirfd)
{
	*connections = (struct connections){.dirfd = dirfd};
	list_init(&connections->shared);
	pthread_mutex_init(&connections->lock, NULL);
}

static void pooled_free(struct pooled *pooled)
{
	list_remove(&pooled->link);
	shared_connection_free(pooled->connection);
	free(pooled);
}

void connections_free(struct connections *connections)
{
	struct pooled *pooled;

	list_each (pooled, &connections->shared, link)
		pooled_free(pooled);
	while (connections->idle_count > 0)
		shared_connection_free(connections->idle[--connections->idle_count]);
	pthread_mutex_destroy(&connections->lock);
}

/* --- shared ---------------------------------------------------------------------------------- */

static void drop_if_finished(struct pooled *pooled)
{
	if (!shared_connection_is_usable(pooled->connection))
		pooled->finished = true;
	if (pooled->finished && pooled->users == 0)
		pooled_free(pooled);
}

/* Returns the first connection that has room for a request. A broken connection stays until its
 * users have left it. */
static struct pooled *pool_find(struct connections *connections)
{
	struct pooled *pooled;

	list_each (pooled, &connections->shared, link) {
		if (!pooled->finished && pooled->users < CALLS_MAX &&
		    shared_connection_is_usable(pooled->connection))
			return pooled;
		drop_if_finished(pooled);
	}
	return NULL;
}

static struct pooled *pool_add(struct connections *connections, struct error *err)
{
	struct pooled *pooled = calloc(1, sizeof(*pooled));

	if (!pooled) {
		error_errno(err, ENOMEM, "connection");
		return NULL;
	}
	pooled->connection = shared_connection_new(connections->dirfd, err);
	if (!pooled->connection) {
		free(pooled);
		return NULL;
	}
	list_add_first(&connections->shared, &pooled->link);
	return pooled;
}

static struct pooled *pool_take(struct connections *connections, struct error *err)
{
	struct pooled *pooled;

	pthread_mutex_lock(&connections->lock);
	pooled = pool_find(connections);
	if (!pooled)
		pooled = pool_add(connections, err);
	if (pooled)
		pooled->users++;
	pthread_mutex_unlock(&connections->lock);
	return pooled;
}

/* --- a connection for one request alone ------------------------------------------------------ */

static struct shared_connection *take_own(struct connections *connections, struct error *err)
{
	struct shared_connection *own;

	do {
		pthread_mutex_lock(&connections->lock);
		own = connections->idle_count > 0 ? connections->idle[--connections->idle_count]
						  : NULL;
		pthread_mutex_unlock(&connections->lock);
		if (own && shared_connection_is_usable(own))
			return own;
		shared_connection_free(own);
	} while (own);
	return shared_connection_new(connections->dirfd, err);
}

static void give_back_own(struct connections *connections, struct shared_connection *own)
{
	if (shared_connection_is_clean(own)) {
		pthread_mutex_lock(&connections->lock);
		if (connections->idle_count < CONNECTIONS_IDLE)
			connections->idle[connections->idle_count++] = steal_ptr(&own);
		pthread_mutex_unlock(&connections->lock);
	}
	shared_connection_free(own);
}

int connections_run(struct connections *connections, const struct shared_request *request,
		    struct microagent_result *out, struct error *err)
{
	struct shared_connection *own;
	struct pooled *pooled;
	int status;

	if (request->callbacks) {
		own = take_own(connections, err);
		if (!own)
			return -1;
		status = shared_connection_run(own, request, out, err);
		give_back_own(connections, own);
		return status;
	}
	pooled = pool_take(connections, err);
	if (!pooled)
		return -1;
	status = shared_connection_run(pooled->connection, request, out, err);
	pthread_mutex_lock(&connections->lock);
	pooled->users--;
	drop_if_finished(pooled);
	pthread_mutex_unlock(&connections->lock);
	return status;
}
