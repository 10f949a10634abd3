/* SPDX-License-Identifier: MIT */
/* IPv4 prefixes, in host byte order. Also tells which prefixes are not public, and at which
 * prefixes secrets are served. */
#ifndef BASE_PREFIX_H
#define BASE_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#define PREFIXES_ALLOW_MAX 256 /* the largest number of prefixes that are opened for one guest */

struct prefix {
	uint32_t address;
	uint32_t bits; /* the length of the prefix, 0 to 32 */
};

/* Reads "a.b.c.d" or "a.b.c.d/n". Returns -1 for any other text, and also if the address has a bit
 * beyond the first n that is not 0. */
int prefix_parse(const char *text, struct prefix *out);
bool prefix_covers(struct prefix prefix, uint32_t address);
/* Returns whether all addresses of the prefix are link-local, or belong to a metadata service, by
 * which clouds give a machine its secrets. */
bool prefix_is_secret(struct prefix prefix);
/* Returns whether all addresses of the prefix lie in one block outside of the public internet. */
bool prefix_is_not_public(struct prefix prefix);

#endif
