/* SPDX-License-Identifier: MIT */
#include "supervisor/live/channels.h"

#include <errno.h>
#include <fcntl.h>
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
#include "base/platform/descriptor.h"
#include "base/ways.h"
#include "channel/dial.h"
#include "channel/publish.h"
#include "supervisor/live/control_message.h"

/* The number of descriptors that this process may open. Each connection has two descriptors, and
 * the usual limit of a shell is 1024. This number is enough for the highest allowed number of
 * connections to several ports, and far below the number that a host allows. */
#define FILES 8192u
/* The number of descriptors that connections into the guest must leave free. These descriptors are
 * for listeners, logs, clients of control.sock, and connections from the guest. */
#define FILES_KEPT 256u
#define CHANNEL_NAME (PUBLISH_NAME + 16)
#define NAME_FRONT "publish " /* the text before publish_name() in the name of a channel */
/* The greatest number of published ports, which is the default of LIMIT_PUBLISHES. Only tests
 * change that limit, and only to a lower number. */
#define PUBLISHED_MAX 64

struct channel {
	struct list_link link;
	struct channels *all;
	char name[CHANNEL_NAME];
	/* The number of a vsock port. If `target` is set, it is a port of the host that the guest
	 * dials; otherwise a port of the guest. */
	uint32_t port;
	/* Each connection into the guest first sends the TCP port for which it was made. */
	bool tells_port;
	/* The target to which connections from the guest are led; NULL: connections of this channel
	 * come from the host and are led into the guest. */
	struct target *target;
	struct forward *forward;
	uint16_t guest_port; /* the guest's TCP port, if the channel is a published port; otherwise
			      * 0 */
	int port_fd;	     /* the host's socket of a published port; -1: the channel is not a
			      * published port */
	bool guarded;	     /* a guard keeps other users from the published port */
	bool open;	     /* the live supervisor listens on the published port */
	bool failing;	     /* the last attempt to open or to shut the published port failed */
};

struct channels {
	struct loop *loop;
	int workspace_fd;
	struct log *log;
	struct list list;
	/* The limit on all connections that lead into the guest. All streams of a machine share
	 * VSOCK_STREAMS, and some streams must stay free for clients of the agent. */
	struct forward_bound inwards;
	struct target *mediation; /* the target of the mediation channel; NULL: there is none */
	uint32_t *host_ports;
	size_t host_port_count;
	bool ready;			    /* the guest is ready */
	struct control_listening listening; /* the latest message of the guest about the ports on
					     * which its servers listen */
	struct loop_watch *settling;	    /* the timer after which the published ports are opened
					     * and shut as `listening` says */
	struct loop_watch *trying_again;    /* the timer after which ports that could not be opened
					     * or shut are tried again */
};

/* --- connecting to the guest ------------------------------------------------------------------ */

/* Reads the TCP port to which a socket is bound, in network order. *out is 0 if the socket is bound
 * to no port, or is not a TCP/IP socket. Returns 0, or -1 with errno. */
static int read_bound_port(int fd, in_port_t *out)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {.v6 = {0}};
	socklen_t len = sizeof(at);

	if (getsockname(fd, &at.any, &len) < 0)
		return -1;
	*out = at.any.sa_family == AF_INET6  ? at.v6.sin6_port
	       : at.any.sa_family == AF_INET ? at.v4.sin_port
					     : 0;
	return 0;
}

static int put_asked_port(struct buf *out, int fd, struct error *err)
{
	in_port_t port;

	if (read_bound_port(fd, &port) < 0)
		return error_errno(err, errno, "cannot read the port that the connection asks for");
	return buf_append(out, &port, sizeof(port), err); /* the port is sent in network order */
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

/* --- sockets of published ports ---------------------------------------------------------------- */

#define PORT_LISTENS 'l'
#define PORT_HELD 'h'
#define PORT_GUARDED 'g'
#define PORT_UNGUARDED 'u'
#define PORT_ENDED 'e' /* the port is not published any more */

/* The guards of published ports (descriptor_guard_port()). The broker holds them. An attacker who
 * controls the live supervisor could otherwise make such a socket listen. */
static struct port_guard {
	struct sockaddr_storage of; /* the address of the published port */
	int fd;			    /* the descriptor of the guard's socket; -1: this operating
				     * system needs no guard */
	bool used;
} guards[PUBLISHED_MAX];

static struct port_guard *find_guard(const struct sockaddr_storage *of)
{
	for (size_t i = 0; i < ARRAY_SIZE(guards); i++)
		if (guards[i].used && memcmp(&guards[i].of, of, sizeof(*of)) == 0)
			return &guards[i];
	return NULL;
}

static int add_guard(int port, const struct sockaddr_storage *of, struct error *err)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(guards) && guards[i].used)
		i++;
	if (i == ARRAY_SIZE(guards))
		return error_set(
			err, ERR_CONFLICT,
			"the port cannot be published, because the broker already holds its limit of ports for this machine: publish fewer ports");
	if (descriptor_guard_port(port, &guards[i].fd) < 0)
		return error_errno(err, errno,
				   "cannot guard the same port of the other address family");
	guards[i].of = *of;
	guards[i].used = true;
	return 0;
}

static int set_guard(int port, bool on, struct error *err)
{
	struct sockaddr_storage of = {0};
	socklen_t len = sizeof(of);

	if (getsockname(port, (struct sockaddr *)&of, &len) < 0)
		return error_errno(err, errno, "cannot read which port is published");
	struct port_guard *there = find_guard(&of);
	if (on)
		return there ? 0 : add_guard(port, &of, err);
	if (there) {
		cleanup_close(&there->fd);
		there->used = false;
	}
	return 0;
}

/* Makes the socket listen at the port to which it is bound. listen() would give a socket without a
 * port one that the kernel chooses. An attacker in the live supervisor has the same socket. By
 * connecting and disconnecting it, the attacker could remove its port after descriptor_has_port()
 * has checked the port. So the port before listen() is compared with the port after it. ERR_DENIED:
 * the socket was bound to no port, or its port has changed. */
static int listen_at_its_port(int port, struct error *err)
{
	in_port_t before = 0, after = 0;

	if (read_bound_port(port, &before) < 0 || descriptor_listen(port) < 0)
		return error_errno(err, errno, "cannot listen");
	if (read_bound_port(port, &after) == 0 && before && after == before)
		return 0;
	(void)shutdown(port, SHUT_RD);
	return error_set(
		err, ERR_DENIED,
		"the broker refuses to listen, because this port is not one that the machine publishes: this is a bug, or the live supervisor was taken over");
}

static int set_port(int port, char to, struct error *err)
{
	if (!descriptor_has_port(port))
		return error_set(
			err, ERR_DENIED,
			"the broker refuses to listen, because this port is not one that the machine publishes: this is a bug, or the live supervisor was taken over");
	switch (to) {
	case PORT_LISTENS:
		return listen_at_its_port(port, err);
	case PORT_HELD:
		return descriptor_hold_port(port) < 0 ? error_errno(err, errno, "cannot refuse")
						      : 0;
	case PORT_ENDED:
		if (descriptor_hold_port(port) < 0)
			return error_errno(err, errno, "cannot refuse");
		ways_forget_ended_listener(port);
		return 0;
	case PORT_GUARDED:
	case PORT_UNGUARDED:
		return set_guard(port, to == PORT_GUARDED, err);
	default:
		return error_set(
			err, ERR_DENIED,
			"the broker refuses a request about a published port, because the request is of an unknown kind: this is a bug, or the live supervisor was taken over");
	}
}

static int serve_port(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	(void)data;
	(void)out;
	if (in->nfds != 1 || in->len != 1)
		return error_set(
			err, ERR_DENIED,
			"the broker refuses a request about a published port, because the request is malformed: this is a bug, or the live supervisor was taken over");
	if (in->bytes[0] == PORT_LISTENS &&
	    (broker_check_ways(err) < 0 || ways_note_listener(in->fds[0], err) < 0))
		return -1;
	return set_port(in->fds[0], in->bytes[0], err);
}

const struct broker_duty port_duty = {serve_port};

static int have_port(int port, char to, struct error *err)
{
	const struct broker_message in = {.len = 1, .nfds = 1, .fds = {port}, .bytes = {to}};

	return broker_is_asked() ? broker_ask(&port_duty, &in, NULL, err) : set_port(port, to, err);
}

int channels_hold(int port, struct error *err)
{
	return have_port(port, PORT_HELD, err);
}

/* --- making channels ------------------------------------------------------------------------- */

static struct channel *new_channel(struct channels *all, struct error *err)
{
	struct channel *c = calloc(1, sizeof(*c));

	if (!c) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	c->all = all;
	c->port_fd = -1;
	list_add(&all->list, &c->link);
	return c;
}

static void close_channel(struct channel *c)
{
	autoclose int port = c->port_fd < 0 ? -1 : fcntl(c->port_fd, F_DUPFD_CLOEXEC, 0);
	struct error ignored;

	if (c->guarded)
		(void)have_port(c->port_fd, PORT_UNGUARDED, &ignored);
	c->guarded = false;
	forward_free(steal_ptr(&c->forward)); /* also closes port_fd */
	if (port >= 0)
		(void)have_port(port, PORT_ENDED, &ignored);
	c->port_fd = -1;
	c->open = false;
	target_free(steal_ptr(&c->target));
}

static void drop_channel(struct channel *c)
{
	close_channel(c);
	list_remove(&c->link);
	free(c);
}

/* Leads the connections of the listener into the guest. Closes `listener` with the channel, or at
 * once if the function fails. */
static int lead_inwards(struct channel *c, int listener, struct error *err)
{
	const struct forward_spec spec = {
		.listen_fd = listener,
		.most = (unsigned)limit_get(LIMIT_PUBLISH_CONNECTIONS),
		.bound = &c->all->inwards,
		.reach = reach_guest,
		.give_up = give_up_guest,
		.failed = on_failed,
		.data = c,
	};

	c->forward = forward_new(c->all->loop, &spec, err);
	return c->forward ? 0 : -1;
}

/* Raises the limit of open files. If the system allows only few open files, lowers the number of
 * connections into the guest, so that the live supervisor has enough descriptors for its other
 * work. */
static void allow_connections(struct channels *all)
{
	uint64_t most = limit_get(LIMIT_PUBLISH_CONNECTIONS_ALL), files = fd_raise_limit(FILES);
	uint64_t room = files > 2 * FILES_KEPT ? (files - FILES_KEPT) / 2 : files / 4;

	if (room < most && room != all->inwards.most)
		log_line(all->log,
			 "the limit of %" PRIu64 " open files allows %" PRIu64
			 " connections to published ports at once",
			 files, room);
	all->inwards.most = (unsigned)(room < most ? room : most);
}

static void name_published(const json_t *forward, char out[CHANNEL_NAME])
{
	char name[PUBLISH_NAME];

	publish_name(forward, name);
	snprintf(out, CHANNEL_NAME, NAME_FRONT "%s", name);
}

/* Makes the channel of a published port. Closes the socket `port` with the channel, or at once if
 * the function fails. Returns NULL with an error. */
static struct channel *new_published(struct channels *all, const json_t *forward, int port,
				     struct error *err)
{
	struct channel *c = new_channel(all, err);

	if (!c) {
		close(port);
		return NULL;
	}
	name_published(forward, c->name);
	c->port = publish_vsock_port(forward);
	c->guest_port = (uint16_t)(c->port - PUBLISH_PORT_FIRST);
	c->port_fd = port;
	if (lead_inwards(c, port, err) == 0)
		return c;
	drop_channel(c);
	return NULL;
}

static int guard(struct channel *c, struct error *err)
{
	if (have_port(c->port_fd, PORT_GUARDED, err) < 0)
		return publish_unguarded(c->name + strlen(NAME_FRONT), err);
	c->guarded = true;
	return 0;
}

int channels_guard(struct channels *all, struct error *err)
{
	struct channel *c;

	list_each (c, &all->list, link) {
		if (c->port_fd >= 0 && guard(c, err) < 0)
			return -1;
	}
	return 0;
}

static int add_publish(struct channels *all, const json_t *forward, struct error *err)
{
	int port = publish_bind(forward, err);

	return port < 0 || !new_published(all, forward, port, err) ? -1 : 0;
}

/* --- a published port is open while its server in the guest listens -------------------------- */

/* Returns true if a server listens on the channel's port in the guest, or if the guest cannot say
 * this. */
static bool has_server(const struct channels *all, const struct channel *c)
{
	return !all->listening.told || port_set_has(&all->listening.ports, c->guest_port);
}

static int open_port(struct channel *c, struct error *err)
{
	if (have_port(c->port_fd, PORT_LISTENS, err) < 0)
		return -1;
	if (forward_open(c->forward, err) < 0) {
		struct error ignored;

		(void)have_port(c->port_fd, PORT_HELD, &ignored);
		return -1;
	}
	c->open = true;
	return 0;
}

/* Makes the published port refuse connections. If the operating system cannot do this for an open
 * port, the port stays open, and each connection is closed at once. */
static int shut_port(struct channel *c, struct error *err)
{
	if (have_port(c->port_fd, PORT_HELD, err) < 0)
		return err->errnum == ENOTSUP ? 0 : -1;
	c->open = false;
	forward_shut(c->forward);
	return 0;
}

static int follow_server(struct channel *c, struct error *err)
{
	bool wanted = c->all->ready && has_server(c->all, c);

	if (wanted == c->open)
		return 0;
	return wanted ? open_port(c, err) : shut_port(c, err);
}

/* Opens the published port if its server in the guest listens, and shuts it otherwise. Logs a
 * change. Returns false if the port could not be opened or shut, for example while another program
 * uses it. */
static bool follow_and_log(struct channel *c)
{
	const bool was_open = c->open;
	struct error err;

	if (follow_server(c, &err) < 0) {
		/* The number of lines about such failures is not limited. A guest alone cannot
		 * cause a failure, and nothing else reports it. */
		if (!c->failing)
			log_line(c->all->log, "%s: %s; it is tried again", c->name, err.msg);
		c->failing = true;
		return false;
	}
	c->failing = false;
	if (c->open != was_open)
		log_limited(c->all->log, "%s: port %u of the guest has %s server", c->name,
			    c->guest_port, c->open ? "a" : "no");
	return true;
}

static void on_try_again(struct loop *loop, void *data);

static void follow_servers(struct channels *all)
{
	bool done = true;
	struct channel *c;
	struct error err;

	list_each (c, &all->list, link) {
		if (c->port_fd >= 0 && !follow_and_log(c))
			done = false;
	}
	if (done || all->trying_again)
		return;
	all->trying_again = loop_add_timer(all->loop, limit_deadline(LIMIT_PUBLISH_AGAIN_MS),
					   on_try_again, all, &err);
	if (!all->trying_again)
		log_limited(all->log, "published ports: %s", err.msg);
}

static void on_try_again(struct loop *loop, void *data)
{
	struct channels *all = data;

	(void)loop;
	all->trying_again = NULL;
	follow_servers(all);
}

static void on_settled(struct loop *loop, void *data)
{
	struct channels *all = data;

	(void)loop;
	all->settling = NULL;
	follow_servers(all);
}

/* Opens and shuts the ports as all->listening says, but only after the time `limit`. Messages of
 * the guest that come before then only change all->listening. */
static void settle_later(struct channels *all, enum limit limit)
{
	struct error err;

	all->settling = loop_add_timer(all->loop, limit_deadline(limit), on_settled, all, &err);
	if (!all->settling)
		log_limited(all->log, "published ports: %s", err.msg);
}

void channels_listening(struct channels *all, const struct control_listening *listening)
{
	all->listening = *listening;
	if (all->settling)
		return;
	follow_servers(all);
	settle_later(all, LIMIT_LISTENING_MS);
}

void channels_guest_lost(struct channels *all)
{
	all->listening.told = false;
	loop_remove(steal_ptr(&all->settling));
	settle_later(all, LIMIT_AGENT_LOST_MS);
}

int channels_publish(struct channels *all, const json_t *forward, int port, struct error *err)
{
	struct channel *c = new_published(all, forward, port, err);

	if (!c)
		return -1;
	allow_connections(all);
	if (guard(c, err) == 0 && follow_server(c, err) == 0)
		return 0;
	drop_channel(c);
	return -1;
}

static struct channel *find_published(struct channels *all, const char *name)
{
	struct channel *c;

	list_each (c, &all->list, link) {
		if (strcmp(c->name, name) == 0)
			return c;
	}
	return NULL;
}

static bool leads_to(const struct channels *all, uint16_t guest_port)
{
	const struct channel *c;

	list_each (c, &all->list, link) {
		if (c->guest_port == guest_port)
			return true;
	}
	return false;
}

bool channels_unpublish(struct channels *all, const json_t *forward)
{
	char name[CHANNEL_NAME];
	struct channel *c;
	uint16_t guest_port;

	name_published(forward, name);
	c = find_published(all, name);
	if (!c)
		return false;
	guest_port = c->guest_port;
	drop_channel(c);
	if (leads_to(all, guest_port))
		return false;
	port_set_remove(&all->listening.ports, guest_port);
	return true;
}

/* Adds the channel of the loopback. This channel leads a connection to any port of the host's
 * loopback to the guest's port of the same number. */
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

/* Adds a channel from the guest to a target. `kind` is "mediation" or "listener", and is a part of
 * the channel's name. */
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
		forward_bound_init(&all->inwards,
				   (unsigned)limit_get(LIMIT_PUBLISH_CONNECTIONS_ALL));
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

/* Serves the broker's duty that resolves the name of a target. ERR_DENIED: no channel has this
 * target. */
static int serve_target(void *data, const struct broker_message *in, struct broker_message *out,
			struct error *err)
{
	const struct channels *channels = data;
	const struct channel *c;

	list_each (c, &channels->list, link) {
		if (c->target && strcmp(target_text(c->target), in->bytes) == 0)
			return target_serve(c->target, out, err);
	}
	return error_set(
		err, ERR_DENIED,
		"the broker refuses to look up an address that the config of the machine does not name: this is a bug, or the live supervisor was taken over");
}

const struct broker_duty target_duty = {serve_target};

int channels_open(struct channels *channels, struct error *err)
{
	struct channel *c;

	if (!list_is_empty(&channels->list))
		allow_connections(channels);
	channels->ready = true;
	list_each (c, &channels->list, link) {
		int status =
			c->port_fd >= 0 ? follow_server(c, err) : forward_open(c->forward, err);

		if (status < 0)
			return error_prefix(err, "%s", c->name);
	}
	return 0;
}

struct target *channels_mediation(const struct channels *channels)
{
	return channels->mediation;
}

/* --- the end of channels --------------------------------------------------------------------- */

int channels_sever(struct channels *channels, json_t *severed, struct error *err)
{
	struct channel *c;
	int status = 0;

	channels->mediation = NULL;
	channels->ready = false;
	loop_remove(steal_ptr(&channels->settling));
	loop_remove(steal_ptr(&channels->trying_again));
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
	loop_remove(channels->settling);
	loop_remove(channels->trying_again);
	while ((c = list_first(&channels->list, struct channel, link)))
		drop_channel(c);
	free(channels->host_ports);
	free(channels);
}
