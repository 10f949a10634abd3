/* SPDX-License-Identifier: MIT */
/* What the host's IPv4 routes and addresses say, by rtnetlink: the addresses that are its own, the
 * prefixes of the links that it is on, and whether there is a way out. */
#ifndef BACKEND_PARTS_HOST_ROUTES_H
#define BACKEND_PARTS_HOST_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HOST_ROUTES_MAX 4096

/* As microagent-netgate takes them: network byte order. */
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
	/* When there are more, the first is the whole of 0.0.0.0/0 as own. Host bits may be set. */
	struct host_prefix prefixes[HOST_ROUTES_MAX];
};

/* The socket for host_routes_read(): who gives up its rights has it before. */
int host_routes_open(struct error *err);
int host_routes_read(int fd, struct host_routes *out, struct error *err);
/* A non-blocking socket that is readable when the table or an address has changed. */
int host_routes_watch(struct error *err);
/* Takes the messages off it. */
void host_routes_drain(int fd);
/* For host_routes_read(), and for tests: the rtnetlink messages of one read. 1: more is to come,
 * 0: the list is at its end. */
int host_routes_take(struct host_routes *routes, const void *bytes, size_t len, struct error *err);
/* The first IPv4 resolver of a resolv.conf text; false when it names none. */
bool host_resolver(const char *resolv_conf, char out[16]);

#endif
