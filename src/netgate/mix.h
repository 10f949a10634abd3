/* SPDX-License-Identifier: MIT */
#ifndef NETGATE_MIX_H
#define NETGATE_MIX_H

#include <stdint.h>

/* Mixes the bits of a number for a hash: if two numbers differ in a few bits, the results differ in
 * about half of all bits. */
static inline uint64_t mix_bits(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

#endif
