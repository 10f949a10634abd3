/* SPDX-License-Identifier: MIT */
/*
 * Which IPv4 destinations a guest may reach. In this order:
 *
 *   link-local and metadata         shut
 *   an address of the host itself   only if a /32 of `allow` names it
 *   a prefix of `allow`             open, "allowed"
 *   a prefix of the host's links    shut
 *   the table of what is no public  shut
 *   anything else                   open, "public"
 *
 * Addresses are in host byte order.
 */
#ifndef NETGATE_PREFIXES_H
#define NETGATE_PREFIXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/egress_rule.h"
#include "base/prefix.h"

#define PREFIXES_HOST_MAX 4096

struct prefixes {
	size_t nallow, negress, nown, nlink;
	struct prefix allow[PREFIXES_ALLOW_MAX];
	struct prefix egress[EGRESS_PREFIXES_MAX];
	struct prefix own[PREFIXES_HOST_MAX];  /* of the host, its broadcast addresses among them */
	struct prefix link[PREFIXES_HOST_MAX]; /* of its neighbours */
};

/* By whom it is open; of the last, everybody or who is on the list of names. */
enum reach { REACH_NONE, REACH_ALLOWED, REACH_PUBLIC };
enum reach prefixes_reach(const struct prefixes *prefixes, uint32_t address);

/* Of what is public, what stays open beside a list of names. Adding is false where there is no
 * room.
 */
bool prefixes_in_egress(const struct prefixes *prefixes, uint32_t address);
bool prefixes_add_egress(struct prefixes *prefixes, struct prefix prefix);
void prefixes_remove_egress(struct prefixes *prefixes, struct prefix prefix);

/*
 * The host's prefixes come as one message (gate.h) each time they change: in network byte order, as
 * many as there are. More than fit are told as an own 0.0.0.0/0, which shuts everything. False for
 * a message of another length or with an impossible prefix, and the tables are as they were.
 */
enum prefix_kind { PREFIX_OWN, PREFIX_ON_LINK };
struct prefix_wire {
	uint32_t address_be;
	uint32_t bits_be;
	uint32_t kind_be;
};
bool prefixes_take_host(struct prefixes *prefixes, const void *message, size_t len);

#endif
