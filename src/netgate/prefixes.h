/* SPDX-License-Identifier: MIT */
/*
 * Which IPv4 destinations a guest may reach. In this order:
 *
 *   an address of the host itself   only if a /32 of `allow` names it
 *   a prefix of `allow`             open
 *   the table of what is no public  shut
 *   anything else                   open
 *
 * Addresses are in host byte order.
 */
#ifndef NETGATE_PREFIXES_H
#define NETGATE_PREFIXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREFIXES_OWN_MAX 4096
#define PREFIXES_ALLOW_MAX 256

struct prefix {
	uint32_t address;
	uint32_t bits; /* 0 to 32 */
};

struct prefixes {
	size_t nallow, nown;
	struct prefix allow[PREFIXES_ALLOW_MAX];
	struct prefix own[PREFIXES_OWN_MAX]; /* of the host, its broadcast addresses among them */
};

bool prefix_covers(struct prefix prefix, uint32_t address);
bool prefixes_open(const struct prefixes *prefixes, uint32_t address);

/*
 * The host's addresses come as one message each time they change: prefixes in network byte order,
 * as many as there are. More than fit are told as 0.0.0.0/0, which shuts everything. False for a
 * message of another length or with an impossible prefix, and the table is as it was.
 */
struct prefix_wire {
	uint32_t address_be;
	uint32_t bits_be;
};
bool prefixes_take_own(struct prefixes *prefixes, const void *message, size_t len);

#endif
