/* SPDX-License-Identifier: MIT */
/* Finds a file in an initramfs without unpacking it. */
#ifndef BASE_CPIO_SEARCH_H
#define BASE_CPIO_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A function that reads `len` bytes of a file from the offset `at`. Returns the number of bytes
 * that were read, which is less than `len` only at the end of the file. Returns -1 on failure. */
typedef int64_t cpio_read_fn(void *file, uint64_t at, void *to, size_t len, struct error *err);

/*
 * Finds the contents of a regular file, by its name, in an uncompressed newc archive, or in several
 * archives that follow one another, as the kernel accepts them. Sets *at to the offset of the
 * contents, and *size to their length in bytes. If several entries have this name, finds the last
 * one, as the kernel does. The search ends at the first bytes that do not belong to such an
 * archive. ERR_NOT_FOUND if no file has this name; ERR_INVALID if the file ends within an entry,
 * for example because it was not copied completely.
 */
int cpio_search(cpio_read_fn *read, void *file, const char *name, uint64_t *at, uint64_t *size,
		struct error *err);

#endif
