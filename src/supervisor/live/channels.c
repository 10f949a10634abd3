/* SPDX-License-Identifier: MIT */
#include "supervisor/live/channels.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/forward.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/list.h"
#include "channel/dial.h"
#include "channel/publish.h"
#include "supervisor/live/control_message.h"

/* Each connection has two descriptors, and a shell's usual limit is 1024. Enough for every one that
 * the limits allow to some ports, and far from what a host has. */
#define FILES 8192u
#define CHANNEL_NAME (PUBLISH_NAME + 16)

struct channel {
	struct list_link link;
	struct channels *all;
	char name[CHANNEL_NAME];
	uint32_t port;	       /* of the guest's vsock, where target is NULL; else the host's */
	bool tells_port;       /* the guest hears first which TCP port is asked for */
	struct target *target; /* NULL: a published port, or all of them */
	struct forward *forward;
};

struct channels {
	struct loop *loop;
	int workspace_fd;
	struct log *log;
	struct list list;
	struct target *mediation; /* of one of the list */
	uint32_t *host_ports;
	size_t host_port_count;
};

/* --- how the far side is reached ------------------------------------------------------------- */

static int put_asked_port(struct buf *out, int fd, struct error *err)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {.v6 = {0}};
	socklen_t len = sizeof(at);
	in_port_t port;

	if (getsockname(fd, &at.any, &len) < 0)
		return error_errno(err, errno, "which port is asked for");
	port = at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port;
	return buf_append(out, &port, sizeof(port), err); /* in network order */
}

static void *reach_guest(void *data, int fd, reached_fn *done, void *done_data, struct error *err)
{
	const struct channel *c = data;
	autobuf struct buf first = BUF_INIT(DIAL_FIRST_MAX);

	if (c->tells_port && put_asked_port(&first, fd, err) < 0)
		return NULL;
	return dial_on_loop(c->all->loop, c->all->workspace_fd, c->port, &first,
			    limit_deadline(LIMIT_REACH_MS), done, done_data, err);
}

static void give_up_guest(void *attempt)
{
	dial_free(attempt);
}

static void *reach_target(void *data, int fd, reached_fn *done, void *done_data, struct error *err)
{
	const struct channel *c = data;

	(void)fd;
	return target_reach(c->target, limit_deadline(LIMIT_REACH_MS), done, done_data, err);
}

static void give_up_target(void *attempt)
{
	target_give_up(attempt);
}

static void on_failed(void *data, const struct error *why)
{
	const struct channel *c = data;

	log_limited(c->all->log, "%s: %s", c->name, why->msg);
}

/* --- making them ----------------------------------------------------------------------------- */

static struct channel *new_channel(struct channels *all, struct error *err)
{
	struct channel *c = calloc(1, sizeof(*c));

	if (!c) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	c->all = all;
	list_add(&all->list, &c->link);
	return c;
}

static void close_channel(struct channel *c)
{
	forward_free(steal_ptr(&c->forward));
	target_free(steal_ptr(&c->target));
}

static void drop_channel(struct channel *c)
{
	close_channel(c);
	list_remove(&c->link);
	free(c);
}

/* Its connections lead into the guest. listener: is stolen, also on failure. */
static int lead_inwards(struct channel *c, int listener, struct error *err)
{
	const struct forward_spec spec = {
		.listen_fd = listener,
		.most = (unsigned)limit_get(LIMIT_PUBLISH_CONNECTIONS),
		.reach = reach_guest,
		.give_up = give_up_guest,
		.failed = on_failed,
		.data = c,
	};

	c->forward = forward_new(c->all->loop, &spec, err);
	return c->forward ? 0 : -1;
}

static void name_published(const json_t *forward, char out[CHANNEL_NAME])
{
	char name[PUBLISH_NAME];

	publish_name(forward, name);
	snprintf(out, CHANNEL_NAME, "publish %s", name);
}

/* listener: is stolen, also on failure. NULL: there is no such channel. */
static struct channel *new_published(struct channels *all, const json_t *forward, int listener,
				     struct error *err)
{
	struct channel *c = new_channel(all, err);

	if (!c) {
		close(listener);
		return NULL;
	}
	name_published(forward, c->name);
	c->port = publish_vsock_port(forward);
	if (lead_inwards(c, listener, err) == 0)
		return c;
	drop_channel(c);
	return NULL;
}

static int add_publish(struct channels *all, const json_t *forward, struct error *err)
{
	int listener = publish_listen(forward, err);

	return listener < 0 || !new_published(all, forward, listener, err) ? -1 : 0;
}

int channels_publish(struct channels *all, const json_t *forward, int listener, struct error *err)
{
	struct channel *c = new_published(all, forward, listener, err);

	if (!c)
		return -1;
	(void)fd_raise_limit(FILES);
	if (forward_open(c->forward, err) == 0)
		return 0;
	drop_channel(c);
	return -1;
}

unsigned channels_unpublish(struct channels *all, const json_t *forward)
{
	char name[CHANNEL_NAME];
	struct channel *c;
	unsigned open;

	name_published(forward, name);
	list_each (c, &all->list, link) {
		if (strcmp(c->name, name) != 0)
			continue;
		open = c->forward ? forward_count(c->forward) : 0;
		drop_channel(c);
		return open;
	}
	return 0;
}

/* Each port that something connects to is that of the guest. */
static int add_loopback(struct channels *all, int listener, struct error *err)
{
	struct channel *c = new_channel(all, err);

	if (!c) {
		close(listener);
		return -1;
	}
	snprintf(c->name, sizeof(c->name), "port-forward");
	c->port = PUBLISH_PORT_ANY;
	c->tells_port = true;
	return lead_inwards(c, listener, err);
}

/* kind: "mediation" or "listener". */
static int add_listener(struct channels *all, const char *kind, const json_t *declared,
			struct error *err)
{
	struct channel *c = new_channel(all, err);
	struct forward_spec spec = {
		.most = (unsigned)limit_get(LIMIT_LISTENER_CONNECTIONS),
		.refuse = true,
		.reach = reach_target,
		.give_up = give_up_target,
		.failed = on_failed,
		.data = c,
	};
	char name[32];

	if (!c)
		return -1;
	c->port = (uint32_t)json_integer_value(json_object_get(declared, "port"));
	snprintf(c->name, sizeof(c->name), "%s on port %u", kind, c->port);
	snprintf(name, sizeof(name), "vsock.sock_%u", c->port);
	c->target = target_new(all->loop, json_text(declared, "target", NULL), err);
	spec.listen_fd = c->target ? sock_listen_at(all->workspace_fd, name, err) : -1;
	if (spec.listen_fd < 0)
		return -1;
	c->forward = forward_new(all->loop, &spec, err);
	if (!c->forward || forward_open(c->forward, err) < 0)
		return -1;
	all->host_ports[all->host_port_count++] = c->port;
	return 0;
}

static int add_all(struct channels *all, const struct config *config, int loopback,
		   struct error *err)
{
	const json_t *item;
	size_t i;

	if (loopback >= 0 && add_loopback(all, loopback, err) < 0)
		return -1;
	json_array_foreach(config->port_forwards, i, item)
	{
		if (add_publish(all, item, err) < 0)
			return -1;
	}
	if (config->mediation) {
		if (add_listener(all, "mediation", config->mediation, err) < 0)
			return -1;
		all->mediation = list_of(all->list.head.before, struct channel, link)->target;
	}
	json_array_foreach(config->vsock_listeners, i, item)
	{
		if (add_listener(all, "listener", item, err) < 0)
			return -1;
	}
	return 0;
}

struct channels *channels_new(struct loop *loop, int workspace_fd, const struct config *config,
			      int loopback, struct log *log, struct error *err)
{
	size_t most = json_array_size(config->vsock_listeners) + 2;
	struct channels *all = calloc(1, sizeof(*all));

	if (all) {
		*all = (struct channels){.loop = loop, .workspace_fd = workspace_fd, .log = log};
		list_init(&all->list);
		all->host_ports = calloc(most, sizeof(*all->host_ports));
	}
	if (!all || !all->host_ports) {
		error_errno(err, ENOMEM, "memory");
		channels_free(all);
		return NULL;
	}
	all->host_ports[all->host_port_count++] = CONTROL_PORT;
	if (add_all(all, config, loopback, err) < 0) {
		channels_free(all);
		return NULL;
	}
	return all;
}

const uint32_t *channels_host_ports(const struct channels *channels, size_t *count)
{
	*count = channels->host_port_count;
	return channels->host_ports;
}

size_t channels_target_ports(const struct channels *channels, uint16_t *ports, size_t most)
{
	const struct channel *c;
	size_t n = 0;

	list_each (c, &channels->list, link) {
		if (c->target && n < most)
			ports[n++] = target_port(c->target);
	}
	return n;
}

/* In the broker: what is looked up is the name of a declared target, and nothing else. */
static int serve_target(void *data, const struct broker_message *in, struct broker_message *out,
			struct error *err)
{
	const struct channels *channels = data;
	const struct channel *c;

	list_each (c, &channels->list, link) {
		if (c->target && strcmp(target_text(c->target), in->bytes) == 0)
			return target_serve(c->target, out, err);
	}
	return error_set(err, ERR_DENIED, "that is no declared target");
}

const struct broker_duty target_duty = {serve_target};

int channels_open(struct channels *channels, struct error *err)
{
	const struct channel *c;

	if (!list_is_empty(&channels->list))
		(void)fd_raise_limit(FILES);
	list_each (c, &channels->list, link) {
		if (c->forward && forward_open(c->forward, err) < 0)
			return error_prefix(err, "%s", c->name);
	}
	return 0;
}

struct target *channels_mediation(const struct channels *channels)
{
	return channels->mediation;
}

/* --- their end ------------------------------------------------------------------------------- */

int channels_sever(struct channels *channels, json_t *severed, struct error *err)
{
	struct channel *c;
	int status = 0;

	channels->mediation = NULL;
	list_each (c, &channels->list, link) {
		unsigned open = c->forward ? forward_count(c->forward) : 0;

		if (!c->forward)
			continue;
		close_channel(c);
		if (json_array_append_new(severed, json_sprintf("%s (%u connection%s)", c->name,
								open, open == 1 ? "" : "s")) < 0)
			status = error_errno(err, ENOMEM, "memory");
	}
	return status;
}

void channels_free(struct channels *channels)
{
	struct channel *c;

	if (!channels)
		return;
	while ((c = list_first(&channels->list, struct channel, link)))
		drop_channel(c);
	free(channels->host_ports);
	free(channels);
}
