/* SPDX-License-Identifier: MIT */
/* QEMU's executable. */
#ifndef BACKEND_QEMU_BINARY_H
#define BACKEND_QEMU_BINARY_H

#include "backend/parts/programs.h"
#include "base/architecture.h"
#include "base/error.h"

/* Finds QEMU for the architecture and returns its absolute path, malloc'd. It is $MICROAGENT_QEMU,
 * or $MICROAGENT_QEMU_ARM64 or $MICROAGENT_QEMU_AMD64 for machines of another architecture than the
 * host's. Each is the path of a binary; the cell has no shell for a script. If the variable is not
 * set, it is qemu-system-<architecture> in PATH. ERR_UNAVAILABLE names the package. */
char *binary_find(enum architecture architecture, struct error *err);
/* The finders for all architectures; NULL at the end. */
extern program_finder *const binary_finders[];
/* Returns the version, "7.2.22 (Debian ...)", malloc'd; NULL if the program does not say it. */
char *binary_version(const char *path);

#endif
