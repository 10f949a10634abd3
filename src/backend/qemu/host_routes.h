/* SPDX-License-Identifier: MIT */
/* What the host's IPv4 routing table says, by rtnetlink: the addresses that are its own, and whether
 * there is a way out. */
#ifndef BACKEND_QEMU_HOST_ROUTES_H
#define BACKEND_QEMU_HOST_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HOST_ROUTES_OWN_MAX 4096

/* As microagent-netgate takes it: network byte order. */
struct host_prefix {
	uint32_t address_be, bits_be;
};

struct host_routes {
	bool has_default; /* a default route by one interface, which is what passt looks for */
	size_t count;
	/* Local and broadcast addresses; 0.0.0.0/0 alone when there are more. */
	struct host_prefix own[HOST_ROUTES_OWN_MAX];
};

int host_routes_read(struct host_routes *out, struct error *err);
/* A non-blocking socket that is readable when the table or an address has changed. */
int host_routes_watch(struct error *err);
/* Takes the messages off it. */
void host_routes_drain(int fd);
/* The first IPv4 resolver of a resolv.conf text; false when it names none. */
bool host_resolver(const char *resolv_conf, char out[16]);

#endif
