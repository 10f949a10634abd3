/* SPDX-License-Identifier: MIT */
#include "supervisor/live/channels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/forward.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/dial.h"
#include "supervisor/handover/publish.h"
#include "supervisor/live/control_message.h"

/* Each connection has two descriptors, and a shell's usual limit is 1024. Enough for every one that
 * the limits allow to some ports, and far from what a host has. */
#define FILES 8192u

struct channel {
	struct channels *all;
	char name[PUBLISH_NAME + 16];
	uint32_t port;	       /* publish: the guest's vsock port; else the host's */
	struct target *target; /* NULL: a published port */
	struct forward *forward;
};

struct channels {
	struct loop *loop;
	int workspace_fd;
	struct log *log;
	size_t count;
	struct channel *list;
	struct target *mediation; /* of one of the list */
	uint32_t *host_ports;
	size_t host_port_count;
};

/* --- how the far side is reached ------------------------------------------------------------- */

static void *reach_guest(void *data, reached_fn *done, void *done_data, struct error *err)
{
	const struct channel *c = data;

	return dial_on_loop(c->all->loop, c->all->workspace_fd, c->port,
			    limit_deadline(LIMIT_REACH_MS), done, done_data, err);
}

static void give_up_guest(void *attempt)
{
	dial_free(attempt);
}

static void *reach_target(void *data, reached_fn *done, void *done_data, struct error *err)
{
	const struct channel *c = data;

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

static struct channel *new_channel(struct channels *all)
{
	struct channel *c = &all->list[all->count++];

	c->all = all;
	return c;
}

static int add_publish(struct channels *all, const json_t *forward, struct error *err)
{
	struct channel *c = new_channel(all);
	struct forward_spec spec = {
		.most = (unsigned)limit_get(LIMIT_PUBLISH_CONNECTIONS),
		.reach = reach_guest,
		.give_up = give_up_guest,
		.failed = on_failed,
		.data = c,
	};
	char name[PUBLISH_NAME];

	publish_name(forward, name);
	snprintf(c->name, sizeof(c->name), "publish %s", name);
	c->port = publish_vsock_port(forward);
	spec.listen_fd = publish_listen(forward, err);
	if (spec.listen_fd < 0)
		return -1;
	c->forward = forward_new(all->loop, &spec, err);
	return c->forward ? 0 : -1;
}

/* kind: "mediation" or "listener". */
static int add_listener(struct channels *all, const char *kind, const json_t *declared,
			struct error *err)
{
	struct channel *c = new_channel(all);
	struct forward_spec spec = {
		.most = (unsigned)limit_get(LIMIT_LISTENER_CONNECTIONS),
		.refuse = true,
		.reach = reach_target,
		.give_up = give_up_target,
		.failed = on_failed,
		.data = c,
	};
	char name[32];

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

static int add_all(struct channels *all, const struct config *config, struct error *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach(config->port_forwards, i, item)
	{
		if (add_publish(all, item, err) < 0)
			return -1;
	}
	if (config->mediation) {
		if (add_listener(all, "mediation", config->mediation, err) < 0)
			return -1;
		all->mediation = all->list[all->count - 1].target;
	}
	json_array_foreach(config->vsock_listeners, i, item)
	{
		if (add_listener(all, "listener", item, err) < 0)
			return -1;
	}
	return 0;
}

struct channels *channels_new(struct loop *loop, int workspace_fd, const struct config *config,
			      struct log *log, struct error *err)
{
	size_t most = json_array_size(config->port_forwards) +
		      json_array_size(config->vsock_listeners) + 1;
	struct channels *all = calloc(1, sizeof(*all));

	if (all) {
		*all = (struct channels){.loop = loop, .workspace_fd = workspace_fd, .log = log};
		all->list = calloc(most, sizeof(*all->list));
		all->host_ports = calloc(most + 1, sizeof(*all->host_ports));
	}
	if (!all || !all->list || !all->host_ports) {
		error_errno(err, ENOMEM, "memory");
		channels_free(all);
		return NULL;
	}
	all->host_ports[all->host_port_count++] = CONTROL_PORT;
	if (add_all(all, config, err) < 0) {
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
	size_t n = 0;

	for (size_t i = 0; i < channels->count && n < most; i++)
		if (channels->list[i].target)
			ports[n++] = target_port(channels->list[i].target);
	return n;
}

/* In the broker: what is looked up is the name of a declared target, and nothing else. */
static int serve_target(void *data, const struct broker_message *in, struct broker_message *out,
			struct error *err)
{
	const struct channels *channels = data;

	for (size_t i = 0; i < channels->count; i++) {
		const struct target *target = channels->list[i].target;

		if (target && strcmp(target_text(target), in->bytes) == 0)
			return target_serve(target, out, err);
	}
	return error_set(err, ERR_DENIED, "that is no declared target");
}

const struct broker_duty target_duty = {serve_target};

int channels_open(struct channels *channels, struct error *err)
{
	if (channels->count > 0)
		(void)fd_raise_limit(FILES);
	for (size_t i = 0; i < channels->count; i++)
		if (channels->list[i].forward && forward_open(channels->list[i].forward, err) < 0)
			return error_prefix(err, "%s", channels->list[i].name);
	return 0;
}

struct target *channels_mediation(const struct channels *channels)
{
	return channels->mediation;
}

/* --- their end ------------------------------------------------------------------------------- */

static void close_channel(struct channel *c)
{
	forward_free(steal_ptr(&c->forward));
	target_free(steal_ptr(&c->target));
}

int channels_sever(struct channels *channels, json_t *severed, struct error *err)
{
	int status = 0;

	channels->mediation = NULL;
	for (size_t i = 0; i < channels->count; i++) {
		struct channel *c = &channels->list[i];
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
	if (!channels)
		return;
	for (size_t i = 0; i < channels->count; i++)
		close_channel(&channels->list[i]);
	free(channels->list);
	free(channels->host_ports);
	free(channels);
}
