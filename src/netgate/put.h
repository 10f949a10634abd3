/* SPDX-License-Identifier: MIT */
/* Writes numbers into a frame in network byte order. */
#ifndef NETGATE_PUT_H
#define NETGATE_PUT_H

#include <stdint.h>

static inline void put16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static inline void put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value);
}

#endif
