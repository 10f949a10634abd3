/* SPDX-License-Identifier: MIT */
#include "base/connecting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/platform/descriptor.h"
#include "base/ways.h"

struct connecting {
	struct loop *loop;
	struct addresses list;
	size_t next; /* index of the next address */
	int fd;
	struct loop_watch *watch, *timer;
	uint64_t deadline_ns;
	struct error why; /* the error of the first address that failed, which is the best address
			   * of the list */
	reached_fn *done;
	void *data;
};

/* --- addresses ------------------------------------------------------------------------------- */

socklen_t address_length(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

void addresses_add(struct addresses *list, const struct sockaddr *address, uint16_t port)
{
	struct sockaddr_storage one = {0};

	if (list->count == ADDRESSES_MAX)
		return;
	if (address->sa_family == AF_INET) {
		memcpy(&one, address, sizeof(struct sockaddr_in));
		((struct sockaddr_in *)&one)->sin_port = htons(port);
	} else if (address->sa_family == AF_INET6) {
		memcpy(&one, address, sizeof(struct sockaddr_in6));
		((struct sockaddr_in6 *)&one)->sin6_port = htons(port);
	} else {
		return;
	}
	for (size_t i = 0; i < list->count; i++)
		if (memcmp(&list->at[i], &one, sizeof(one)) == 0)
			return;
	list->at[list->count++] = one;
}

bool addresses_add_text(struct addresses *list, const char *text, uint16_t port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		addresses_add(list, (const struct sockaddr *)&v4, port);
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		addresses_add(list, (const struct sockaddr *)&v6, port);
	else
		return false;
	return true;
}

/* --- one connection -------------------------------------------------------------------------- */

/* Returns a non-blocking socket that is connected or is still connecting. */
static int open_connection(const struct sockaddr_storage *address, struct error *err)
{
	autoclose int fd = descriptor_socket(address->ss_family, SOCK_STREAM, 0, true);

	if (fd < 0 || (connect(fd, (const struct sockaddr *)address, address_length(address)) < 0 &&
		       errno != EINPROGRESS))
		return error_errno(err, errno, "connect");
	return steal_fd(&fd);
}

static bool is_allowed(const struct connecting_ports *ports, const struct sockaddr_storage *address)
{
	uint16_t port;

	if (address->ss_family == AF_INET)
		port = ntohs(((const struct sockaddr_in *)address)->sin_port);
	else if (address->ss_family == AF_INET6)
		port = ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
	else
		return false;
	for (size_t i = 0; i < ports->count; i++)
		if (ports->at[i] == port)
			return true;
	return false;
}

static int serve_connection(void *data, const struct broker_message *in, struct broker_message *out,
			    struct error *err)
{
	struct sockaddr_storage address;

	if (in->len != sizeof(address))
		return error_set(
			err, ERR_INVALID,
			"the broker refuses to connect, because the address in the request is malformed: this is a bug, or the live supervisor was taken over");
	memcpy(&address, in->bytes, sizeof(address));
	if (!is_allowed(data, &address))
		return error_set(
			err, ERR_DENIED,
			"the broker refuses to connect to this port, because the config of the machine does not name it: this is a bug, or the live supervisor was taken over");
	if (broker_check_ways(err) < 0)
		return -1;
	autoclose int fd = open_connection(&address, err);

	if (fd < 0 || ways_note_connection(fd, err) < 0)
		return -1;
	out->fds[out->nfds++] = steal_fd(&fd);
	return 0;
}

const struct broker_duty connecting_duty = {serve_connection};

static int ask_for_connection(const struct sockaddr_storage *address, struct error *err)
{
	struct broker_message in = {.len = sizeof(*address)}, out;

	memcpy(in.bytes, address, sizeof(*address));
	return broker_ask(&connecting_duty, &in, &out, err) < 0 ? -1 : out.fds[0];
}

/* --- the attempt ----------------------------------------------------------------------------- */

static void try_next(struct connecting *c);

static void drop_socket(struct connecting *c)
{
	loop_remove(steal_ptr(&c->watch));
	loop_remove(steal_ptr(&c->timer));
	if (c->fd >= 0)
		close(steal_fd(&c->fd));
}

static void finish_connecting(struct connecting *c, int fd)
{
	reached_fn *done = c->done;
	void *data = c->data;
	struct error why = c->why;

	drop_socket(c);
	free(c);
	done(data, fd, fd >= 0 ? NULL : &why);
}

static void connecting_failed(struct connecting *c, int errnum)
{
	if (c->why.code == ERR_NONE) {
		error_errno(&c->why, errnum, "connect");
		if (errnum == ECONNREFUSED)
			c->why.code = ERR_UNAVAILABLE;
	}
	drop_socket(c);
	try_next(c);
}

static void on_connecting_ready(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct connecting *c = data;
	int errnum = 0;
	socklen_t len = sizeof(errnum);

	(void)loop;
	(void)events;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
		errnum = errno;
	if (errnum) {
		connecting_failed(c, errnum);
		return;
	}
	loop_remove(steal_ptr(&c->watch));
	finish_connecting(c, steal_fd(&c->fd));
}

static void on_slow(struct loop *loop, void *data)
{
	struct connecting *c = data;

	(void)loop;
	c->timer = NULL;
	connecting_failed(c, ETIMEDOUT);
}

static int begin_address(struct connecting *c, const struct sockaddr_storage *address,
			 uint64_t deadline_ns, struct error *err)
{
	c->fd = broker_is_asked() ? ask_for_connection(address, err)
				  : open_connection(address, err);
	if (c->fd < 0)
		return -1;
	c->watch = loop_add_fd(c->loop, c->fd, LOOP_OUT, on_connecting_ready, c, err);
	if (!c->watch)
		return -1;
	c->timer = loop_add_timer(c->loop, deadline_ns, on_slow, c, err);
	return c->timer ? 0 : -1;
}

static void try_next(struct connecting *c)
{
	while (c->next < c->list.count) {
		uint64_t now = clock_mono_ns(), left = c->list.count - c->next;
		uint64_t share = now < c->deadline_ns ? (c->deadline_ns - now) / left : 0;
		struct error why = {0};

		if (begin_address(c, &c->list.at[c->next++], now + share, &why) == 0)
			return;
		if (c->why.code == ERR_NONE)
			c->why = why;
		drop_socket(c);
	}
	if (c->why.code == ERR_NONE)
		error_set(&c->why, ERR_NOT_FOUND,
			  "there is no address to connect to: give one, or a name that has one");
	finish_connecting(c, -1);
}

static void on_connecting_begin(struct loop *loop, void *data)
{
	struct connecting *c = data;

	(void)loop;
	c->timer = NULL;
	try_next(c);
}

struct connecting *connecting_new(struct loop *loop, const struct addresses *list,
				  uint64_t deadline_ns, reached_fn *done, void *data,
				  struct error *err)
{
	struct connecting *c = calloc(1, sizeof(*c));

	if (!c) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	*c = (struct connecting){.loop = loop,
				 .list = *list,
				 .fd = -1,
				 .deadline_ns = deadline_ns,
				 .done = done,
				 .data = data};
	c->timer = loop_add_timer(loop, clock_mono_ns(), on_connecting_begin, c, err);
	if (!c->timer) {
		free(c);
		return NULL;
	}
	return c;
}

void connecting_free(struct connecting *c)
{
	if (!c)
		return;
	drop_socket(c);
	free(c);
}
