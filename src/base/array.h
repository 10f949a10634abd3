/* SPDX-License-Identifier: MIT */
/* A replacement for reallocarray(), which not every C library has. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* Resizes the array `items` as realloc() does, to `count` items of `size` bytes each. Returns NULL
 * with errno ENOMEM, also if the number of bytes does not fit into size_t. */
static inline void *array_resize(void *items, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(items, bytes);
}

#endif
