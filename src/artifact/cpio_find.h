/* SPDX-License-Identifier: MIT */
/* A file in an initramfs, found without unpacking it. */
#ifndef ARTIFACT_CPIO_FIND_H
#define ARTIFACT_CPIO_FIND_H

#include <stdint.h>

#include "base/error.h"

/*
 * Where the contents of name lie in an uncompressed newc archive, or several behind each other as
 * the kernel takes them; of equal names the last counts, as for the kernel. The search ends at the
 * first bytes that are no such archive. ERR_NOT_FOUND when it was not met; ERR_INVALID for a file
 * that ends within an entry, as one does that was not copied whole.
 */
int cpio_find(int fd, const char *name, uint64_t *at, uint64_t *size, struct error *err);

#endif
