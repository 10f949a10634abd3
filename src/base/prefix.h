/* SPDX-License-Identifier: MIT */
/* IPv4 prefixes, in host byte order, and those that no guest reaches whatever it is allowed. */
#ifndef BASE_PREFIX_H
#define BASE_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#define PREFIXES_ALLOW_MAX 256 /* that are opened for a guest */

struct prefix {
	uint32_t address;
	uint32_t bits; /* 0 to 32 */
};

/* "a.b.c.d" or "a.b.c.d/n", with nothing behind its length; -1 for what is none. */
int prefix_parse(const char *text, struct prefix *out);
bool prefix_covers(struct prefix prefix, uint32_t address);
/* It lies in what clouds tell a machine its secrets by, or is link-local. */
bool prefix_is_secret(struct prefix prefix);
/* It lies in what is no place on the public internet. */
bool prefix_is_not_public(struct prefix prefix);

#endif
