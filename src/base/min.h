/* SPDX-License-Identifier: MIT */
/* Functions that return the smaller or the larger of two numbers. */
#ifndef BASE_MIN_H
#define BASE_MIN_H

#include <stddef.h>
#include <stdint.h>

static inline size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
