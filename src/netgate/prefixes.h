/* SPDX-License-Identifier: MIT */
/*
 * Judges which IPv4 destinations a guest may reach. The first line that applies decides:
 *
 *   link-local and metadata         shut
 *   an address of the host itself   only if a /32 of `allow` names it
 *   a prefix of `allow`             open, "allowed"
 *   a prefix of the host's links    shut
 *   the table of non-public ranges  shut
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
	struct prefix own[PREFIXES_HOST_MAX];  /* the host's own and broadcast addresses */
	struct prefix link[PREFIXES_HOST_MAX]; /* the networks of the host's neighbours */
};

/* Why an address is open. A public address is open to everybody, or only by the list of names. */
enum reach { REACH_NONE, REACH_ALLOWED, REACH_PUBLIC };
enum reach prefixes_reach(const struct prefixes *prefixes, uint32_t address);

/* The public prefixes that stay open beside a list of names. prefixes_add_egress() returns false if
 * there is no room. */
bool prefixes_in_egress(const struct prefixes *prefixes, uint32_t address);
bool prefixes_add_egress(struct prefixes *prefixes, struct prefix prefix);
void prefixes_remove_egress(struct prefixes *prefixes, struct prefix prefix);

/*
 * The host's prefixes come as one message (gate.h) each time they change, in network byte order, as
 * many as there are. If there are more than fit, the sender sends 0.0.0.0/0 as an own prefix, which
 * shuts everything. prefixes_take_host() returns false if the message has a wrong length or an
 * impossible prefix; the tables then stay as they were.
 */
enum prefix_kind { PREFIX_OWN, PREFIX_ON_LINK };
struct prefix_wire {
	uint32_t address_be;
	uint32_t bits_be;
	uint32_t kind_be;
};
bool prefixes_take_host(struct prefixes *prefixes, const void *message, size_t len);

#endif
