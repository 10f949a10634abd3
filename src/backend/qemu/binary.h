/* SPDX-License-Identifier: MIT */
/* QEMU's executable. */
#ifndef BACKEND_QEMU_BINARY_H
#define BACKEND_QEMU_BINARY_H

#include "base/error.h"

/* $MICROAGENT_QEMU (the path of a binary; the cell holds no shell for a script), else
 * qemu-system-<architecture> in PATH: malloc'd, absolute. ERR_UNAVAILABLE names the package. */
char *binary_find(struct error *err);
/* "7.2.22 (Debian ...)", malloc'd; NULL when it does not say. */
char *binary_version(const char *path);

#endif
