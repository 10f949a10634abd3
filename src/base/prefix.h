/* SPDX-License-Identifier: MIT */
/* IPv4 prefixes, in host byte order, and the prefixes that no guest ever reaches. */
#ifndef BASE_PREFIX_H
#define BASE_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#define PREFIXES_ALLOW_MAX 256 /* prefixes that are opened for one guest */

struct prefix {
	uint32_t address;
	uint32_t bits; /* 0 to 32 */
};

/* Reads "a.b.c.d" or "a.b.c.d/n", with nothing behind it. Returns -1 for any other text. */
int prefix_parse(const char *text, struct prefix *out);
bool prefix_covers(struct prefix prefix, uint32_t address);
/* Returns whether the prefix lies where clouds give a machine its secrets, or is link-local. */
bool prefix_is_secret(struct prefix prefix);
/* Returns whether the prefix lies outside of the public internet. */
bool prefix_is_not_public(struct prefix prefix);

#endif
