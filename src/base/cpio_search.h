/* SPDX-License-Identifier: MIT */
/* A file in an initramfs, found without unpacking it. */
#ifndef BASE_CPIO_SEARCH_H
#define BASE_CPIO_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Reads len bytes of a file at a place: how many there were, which are fewer where the file ends
 * before, or -1. */
typedef int64_t cpio_read_fn(void *file, uint64_t at, void *to, size_t len, struct error *err);

/*
 * Where the contents of name lie in an uncompressed newc archive, or several behind each other as
 * the kernel takes them; of equal names the last counts, as for the kernel. The search ends at the
 * first bytes that are no such archive. ERR_NOT_FOUND when it was not met; ERR_INVALID for a file
 * that ends within an entry, as one does that was not copied whole.
 */
int cpio_search(cpio_read_fn *read, void *file, const char *name, uint64_t *at, uint64_t *size,
		struct error *err);

#endif
