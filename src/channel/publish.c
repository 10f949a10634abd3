/* SPDX-License-Identifier: MIT */
#include "channel/publish.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/connecting.h"
#include "base/json.h"
#include "base/platform/descriptor.h"
#include "store/port_holder.h"

static const char *host_of(const json_t *forward)
{
	return json_text(forward, "host", NULL);
}

static uint16_t forward_port(const json_t *forward, const char *key)
{
	return (uint16_t)json_integer_value(json_object_get(forward, key));
}

uint32_t publish_vsock_port(const json_t *forward)
{
	return PUBLISH_PORT_FIRST + forward_port(forward, "guestPort");
}

void publish_name(const json_t *forward, char out[PUBLISH_NAME])
{
	const char *host = host_of(forward);

	snprintf(out, PUBLISH_NAME, strchr(host, ':') ? "[%.46s]:%u" : "%.46s:%u", host,
		 forward_port(forward, "hostPort"));
}

static int bind_published(const struct sockaddr_storage *address)
{
	autoclose int fd = descriptor_socket(address->ss_family, SOCK_STREAM, 0, true);
	int on = 1;

	/* The socket for "::" must not include 0.0.0.0, because the machine may publish a port
	 * there too. */
	if (fd < 0 ||
	    (address->ss_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
	    descriptor_bind_port(fd, (const struct sockaddr *)address, address_length(address)) < 0)
		return -1;
	return steal_fd(&fd);
}

static int tell_holder(const char *name, const struct port_holder *holder, struct error *err)
{
	char published[PUBLISH_NAME];

	publish_name(holder->published, published);
	json_decref(holder->published);
	return error_set(
		err, ERR_UNAVAILABLE,
		"cannot publish %s: %s publishes %s, so that port of both IPv4 and IPv6 is taken even if nothing listens there yet; stop that workspace, or choose another port",
		name, holder->workspace, published);
}

int publish_bind(const json_t *forward, struct error *err)
{
	struct port_holder holder;
	struct addresses list = {0};
	char name[PUBLISH_NAME];
	int fd = -1, why;

	publish_name(forward, name);
	if (!addresses_add_text(&list, host_of(forward), forward_port(forward, "hostPort")))
		return error_set(
			err, ERR_INVALID,
			"cannot publish %s: its host is not an IP address: give an address of this host",
			name);
	fd = bind_published(&list.at[0]);
	if (fd >= 0)
		return fd;
	why = errno;
	if (why == EADDRINUSE && port_holder_find(forward, &holder))
		return tell_holder(name, &holder, err);
	if (why == EADDRINUSE)
		return error_set(
			err, ERR_UNAVAILABLE,
			"cannot publish %s: the port is taken; stop the program that has it (`ss -ltnp` shows one that listens, `ss -anp --bound-inactive` one that does not listen yet, since Linux 6.8), wait a minute if a server has just ended, or choose another port",
			name);
	if (why == EACCES || why == EPERM)
		return error_set(
			err, ERR_DENIED,
			"cannot publish %s: ports below 1024 are root's; choose one from 1024 on",
			name);
	return error_errno(err, why, "cannot publish %s", name);
}

int publish_unguarded(const char *name, struct error *err)
{
	if (err->errnum != EADDRINUSE)
		return error_prefix(err, "cannot publish %s", name);
	return error_set(
		err, ERR_UNAVAILABLE,
		"cannot publish %s: another program has that port of %s, which must be free too, or other users could take over the port; stop that program (`ss -tanp` shows it, with --bound-inactive if it does not listen), wait a minute if it has just ended, or choose another port",
		name, name[0] == '[' ? "IPv4" : "IPv6");
}

static int require_guard(int port, const json_t *forward, struct error *err)
{
	struct port_holder holder;
	char name[PUBLISH_NAME];
	autoclose int guard = -1;

	if (descriptor_guard_port(port, &guard) == 0)
		return 0;
	error_errno(err, errno, "the same port of the other family of addresses");
	publish_name(forward, name);
	if (err->errnum == EADDRINUSE && port_holder_find(forward, &holder))
		return tell_holder(name, &holder, err);
	return publish_unguarded(name, err);
}

int publish_check(const json_t *forwards, struct error *err)
{
	const json_t *forward;
	size_t i;

	json_array_foreach(forwards, i, forward)
	{
		struct addresses list = {0};

		if (!addresses_add_text(&list, host_of(forward), 0))
			continue;
		autoclose int fd = descriptor_socket(list.at[0].ss_family, SOCK_STREAM, 0, false);

		if (fd >= 0 &&
		    bind(fd, (const struct sockaddr *)&list.at[0], address_length(&list.at[0])) <
			    0 &&
		    /* EINVAL means a link-local address without its interface, such as fe80::1 */
		    (errno == EADDRNOTAVAIL || errno == EINVAL))
			return error_set(
				err, ERR_INVALID,
				"config.network.portForwards[%zu].host must be an address of this host, and %s is not one",
				i, host_of(forward));
	}
	return 0;
}

int publish_require_free(const json_t *forwards, struct error *err)
{
	const json_t *forward;
	size_t i;

	json_array_foreach(forwards, i, forward)
	{
		autoclose int fd = publish_bind(forward, err);

		if (fd < 0 || require_guard(fd, forward, err) < 0)
			return -1;
	}
	return 0;
}
