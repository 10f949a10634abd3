/* SPDX-License-Identifier: MIT */
/* reallocarray(), which not every C library has. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* As realloc() to count items of that size; NULL and ENOMEM also where no size_t counts the bytes.
 */
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
