/* SPDX-License-Identifier: MIT */
/*
 * Judges which IPv4 destinations a guest may reach. The first line that applies decides:
 *
 *   link-local, or a metadata service     REACH_NONE
 *   an address of the host itself         REACH_ALLOWED if a /32 of `allow` is this address; else
 *                                         REACH_NONE
 *   an address in a prefix of `allow`     REACH_ALLOWED
 *   an address in a network of the host   REACH_NONE
 *   not public (base/prefix.h)            REACH_NONE
 *   any other address                     REACH_PUBLIC
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
	struct prefix link[PREFIXES_HOST_MAX]; /* the networks to which the host is connected */
};

/* The reason why an address is open; REACH_NONE if it is shut. REACH_PUBLIC: the address is public,
 * so it is open unless there is a list of names, which opens only some of the public addresses. */
enum reach { REACH_NONE, REACH_ALLOWED, REACH_PUBLIC };
enum reach prefixes_reach(const struct prefixes *prefixes, uint32_t address);

/* Functions for the table of public prefixes that are open in addition to the list of names.
 * prefixes_in_egress() returns true if a prefix in the table contains the address.
 * prefixes_add_egress() returns false if the table is full. */
bool prefixes_in_egress(const struct prefixes *prefixes, uint32_t address);
bool prefixes_add_egress(struct prefixes *prefixes, struct prefix prefix);
void prefixes_remove_egress(struct prefixes *prefixes, struct prefix prefix);

/*
 * The host's prefixes. Each time they change, the supervisor sends all of them in one message
 * (MESSAGE_HOST of gate.h), in network byte order. If the host has more than PREFIXES_HOST_MAX
 * prefixes, the message has only 0.0.0.0/0, as a prefix of the host's own addresses, which shuts
 * everything. prefixes_take_host() returns false if the message has a wrong length or an impossible
 * prefix. The tables are then not changed.
 */
enum prefix_kind { PREFIX_OWN, PREFIX_ON_LINK };
struct prefix_wire {
	uint32_t address_be;
	uint32_t bits_be;
	uint32_t kind_be;
};
bool prefixes_take_host(struct prefixes *prefixes, const void *message, size_t len);

#endif
