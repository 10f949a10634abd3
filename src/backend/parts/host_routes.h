/* SPDX-License-Identifier: MIT */
/* Reads the host's IPv4 routes and addresses by rtnetlink. Finds the host's own addresses, the
 * prefixes of its links, and whether the host has a default route. */
#ifndef BACKEND_PARTS_HOST_ROUTES_H
#define BACKEND_PARTS_HOST_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HOST_ROUTES_MAX 4096

/* The kinds of prefixes. microagent-netgate uses the same numbers. */
enum host_prefix_kind {
	HOST_PREFIX_OWN,    /* local and broadcast addresses of the host */
	HOST_PREFIX_ON_LINK /* addresses that the host reaches without a gateway, as on a LAN */
};
/* A prefix. Its members are in network byte order. */
struct host_prefix {
	uint32_t address_be, bits_be, kind_be;
};

struct host_routes {
	/* There is a default route through a single interface. passt needs such a route. */
	bool has_default;
	size_t count;
	/* The prefixes. If the host has more than HOST_ROUTES_MAX prefixes, the first entry is
	 * 0.0.0.0/0 of the kind HOST_PREFIX_OWN. The bits of an address after its prefix need not
	 * be 0. */
	struct host_prefix prefixes[HOST_ROUTES_MAX];
};

/* Opens the socket for host_routes_read(). A process that gives up its rights must call this
 * function first, since it cannot open the socket later. */
int host_routes_open(struct error *err);
int host_routes_read(int fd, struct host_routes *out, struct error *err);
/* Opens a non-blocking socket that becomes readable when a route or an address of the host has
 * changed. */
int host_routes_watch(struct error *err);
/* Reads and drops the messages that wait in the socket of host_routes_watch(). */
void host_routes_drain(int fd);
/* Adds to `routes` the addresses and routes of the rtnetlink messages in `bytes`, which come from
 * one read. host_routes_read() and tests call this function. Returns 1 if more messages will come,
 * 0 if the kernel's list has ended, or -1 with an error. */
int host_routes_take(struct host_routes *routes, const void *bytes, size_t len, struct error *err);
/* Finds the first IPv4 resolver in `resolv_conf`, which is the text of a resolv.conf. Returns false
 * if the text has none. */
bool host_resolver(const char *resolv_conf, char out[16]);

#endif
