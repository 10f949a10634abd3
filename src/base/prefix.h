/* SPDX-License-Identifier: MIT */
/* IPv4 prefixes, in host byte order. Two functions say if a prefix is outside of the public
 * internet, and if it belongs to a service that gives out secrets. */
#ifndef BASE_PREFIX_H
#define BASE_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#define PREFIXES_ALLOW_MAX 256 /* the greatest number of allowed prefixes of one guest */

struct prefix {
	uint32_t address;
	uint32_t bits; /* the length of the prefix, 0 to 32 */
};

/* Reads "a.b.c.d" or "a.b.c.d/n". Returns -1 for any other text, and also if the address has a bit
 * beyond the first n that is not 0. */
int prefix_parse(const char *text, struct prefix *out);
bool prefix_covers(struct prefix prefix, uint32_t address);
/* Returns true if all addresses of the prefix are link-local, or belong to a metadata service, from
 * which a machine in a cloud gets its secrets. */
bool prefix_is_secret(struct prefix prefix);
/* Returns true if all addresses of the prefix are in one block outside of the public internet. */
bool prefix_is_not_public(struct prefix prefix);

#endif
