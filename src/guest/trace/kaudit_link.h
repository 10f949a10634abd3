/* SPDX-License-Identifier: MIT */
/*
 * The kernel's audit: our rules, and its records by netlink. One process of a machine can be at its
 * receiving end, this one, and from then on no other process can change what is recorded, not even
 * root, until the machine ends. Nothing ever waits for us: what we are too slow for, the kernel
 * drops and counts.
 *
 * Recorded is what processes do that have a login uid (see spawn.h), which is what the host runs
 * and what comes of it: every exec, every open for writing, every connect to an IP address.
 */
#ifndef GUEST_KAUDIT_LINK_H
#define GUEST_KAUDIT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kaudit_link {
	int fd;
	uint64_t lost;	      /* records that the kernel dropped; the owner takes it */
	uint32_t seen_lost;   /* what the kernel has said last */
	unsigned next, count; /* of the records that were fetched at once */
};

/* From here on it is recorded. ERR_UNSUPPORTED: this kernel has no audit, or another has taken it.
 */
int kaudit_link_open(struct kaudit_link *link, struct error *err);
/* The text of the next record and its type; false: there is none now. text lives until the next
 * call. */
bool kaudit_link_next(struct kaudit_link *link, unsigned *type, const char **text, size_t *len);
/* Asks for what has been lost; the answer comes among the records, into `lost`. If the kernel has
 * let go of us because we were slow, that is mended then. */
void kaudit_link_ask(struct kaudit_link *link);
void kaudit_link_close(struct kaudit_link *link);

#endif
