/* SPDX-License-Identifier: MIT */
/* Finds a file in an initramfs of Linux that is open as a descriptor. */
#ifndef ARTIFACT_CPIO_FIND_H
#define ARTIFACT_CPIO_FIND_H

#include <stdint.h>

#include "base/error.h"

/* Runs cpio_search() (base/cpio_search.h) on the file of a descriptor. Does not change the position
 * of the descriptor. */
int cpio_find(int fd, const char *name, uint64_t *at, uint64_t *size, struct error *err);

#endif
