/* SPDX-License-Identifier: MIT */
/* Finds a file in an initramfs of Linux by a descriptor of it. */
#ifndef ARTIFACT_CPIO_FIND_H
#define ARTIFACT_CPIO_FIND_H

#include <stdint.h>

#include "base/error.h"

/* cpio_search() in the file of a descriptor, whose position is left alone. */
int cpio_find(int fd, const char *name, uint64_t *at, uint64_t *size, struct error *err);

#endif
