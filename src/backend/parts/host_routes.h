/* SPDX-License-Identifier: MIT */
/* Reads the host's IPv4 routes and addresses by rtnetlink: the host's own addresses, the prefixes
 * of its links, and whether it has a default route. */
#ifndef BACKEND_PARTS_HOST_ROUTES_H
#define BACKEND_PARTS_HOST_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HOST_ROUTES_MAX 4096

/* The kinds of prefixes, as microagent-netgate takes them. */
enum host_prefix_kind {
	HOST_PREFIX_OWN,    /* local and broadcast addresses */
	HOST_PREFIX_ON_LINK /* addresses that are reached without a gateway, for example a LAN */
};
/* A prefix, with its numbers in network byte order. */
struct host_prefix {
	uint32_t address_be, bits_be, kind_be;
};

struct host_routes {
	/* There is a default route through one interface; passt needs such a route. */
	bool has_default;
	size_t count;
	/* If the host has more than HOST_ROUTES_MAX, the first prefix is 0.0.0.0/0 of the kind
	 * HOST_PREFIX_OWN. The bits behind a prefix need not be 0. */
	struct host_prefix prefixes[HOST_ROUTES_MAX];
};

/* Opens the socket for host_routes_read(). A process that will give up its rights must call this
 * function before it does so. */
int host_routes_open(struct error *err);
int host_routes_read(int fd, struct host_routes *out, struct error *err);
/* Opens a non-blocking socket that becomes readable when a route or an address has changed. */
int host_routes_watch(struct error *err);
/* Reads and drops the messages that wait at the socket of host_routes_watch(). */
void host_routes_drain(int fd);
/* Adds the addresses and routes in the rtnetlink messages of one read to `routes`. Used by
 * host_routes_read() and by tests. Returns 1 if more messages must come, 0 if the kernel's list has
 * ended, or -1 with an error. */
int host_routes_take(struct host_routes *routes, const void *bytes, size_t len, struct error *err);
/* Finds the first IPv4 resolver of a resolv.conf text. Returns false if the text names none. */
bool host_resolver(const char *resolv_conf, char out[16]);

#endif
