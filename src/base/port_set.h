/* SPDX-License-Identifier: MIT */
/* A set of TCP ports, with one bit for each port. Port 0 is the lowest bit of the first byte. A
 * zeroed set is empty. */
#ifndef BASE_PORT_SET_H
#define BASE_PORT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PORT_SET_BYTES 8192

struct port_set {
	uint8_t bytes[PORT_SET_BYTES];
};

static inline bool port_set_has(const struct port_set *set, uint16_t port)
{
	return set->bytes[port / 8] >> port % 8 & 1;
}

static inline void port_set_add(struct port_set *set, uint16_t port)
{
	set->bytes[port / 8] |= (uint8_t)(1 << port % 8);
}

static inline void port_set_remove(struct port_set *set, uint16_t port)
{
	set->bytes[port / 8] &= (uint8_t) ~(1 << port % 8);
}

/* Removes from `set` all ports that are not in `of`. */
static inline void port_set_keep(struct port_set *set, const struct port_set *of)
{
	for (size_t i = 0; i < sizeof(set->bytes); i++)
		set->bytes[i] &= of->bytes[i];
}

static inline size_t port_set_count(const struct port_set *set)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(set->bytes); i++)
		count += (size_t)__builtin_popcount(set->bytes[i]);
	return count;
}

#endif
