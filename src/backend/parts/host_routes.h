/* SPDX-License-Identifier: MIT */
/* Reads the host's IPv4 routes and addresses by rtnetlink: its own addresses, the prefixes of the
 * links that it is on, and whether there is a way out. */
#ifndef BACKEND_PARTS_HOST_ROUTES_H
#define BACKEND_PARTS_HOST_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HOST_ROUTES_MAX 4096

/* The kinds of prefixes, as microagent-netgate takes them: in network byte order. */
enum host_prefix_kind {
	HOST_PREFIX_OWN,    /* local and broadcast addresses */
	HOST_PREFIX_ON_LINK /* reached without a gateway: a LAN, the other end of a line */
};
struct host_prefix {
	uint32_t address_be, bits_be, kind_be;
};

struct host_routes {
	bool has_default; /* a default route by one interface, which is what passt looks for */
	size_t count;
	/* If there are more prefixes, the first one is all of 0.0.0.0/0 as own. Host bits may be
	 * set. */
	struct host_prefix prefixes[HOST_ROUTES_MAX];
};

/* Opens the socket for host_routes_read(). A process that gives up its rights opens it before. */
int host_routes_open(struct error *err);
int host_routes_read(int fd, struct host_routes *out, struct error *err);
/* Opens a non-blocking socket that is readable when the table or an address has changed. */
int host_routes_watch(struct error *err);
/* Reads and drops the messages of that socket. */
void host_routes_drain(int fd);
/* Takes the rtnetlink messages of one read. For host_routes_read(), and for tests. Returns 1 if
 * more is to come, 0 if the list is at its end; -1 with an error. */
int host_routes_take(struct host_routes *routes, const void *bytes, size_t len, struct error *err);
/* Finds the first IPv4 resolver of a resolv.conf text. Returns false if the text names none. */
bool host_resolver(const char *resolv_conf, char out[16]);

#endif
