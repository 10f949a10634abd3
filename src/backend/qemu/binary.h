/* SPDX-License-Identifier: MIT */
/* QEMU's executable. */
#ifndef BACKEND_QEMU_BINARY_H
#define BACKEND_QEMU_BINARY_H

#include "backend/parts/programs.h"
#include "base/architecture.h"
#include "base/error.h"

/* $MICROAGENT_QEMU, and for machines of another architecture than the host's $MICROAGENT_QEMU_ARM64
 * or $MICROAGENT_QEMU_AMD64 (the path of a binary; the cell holds no shell for a script), else
 * qemu-system-<architecture> in PATH: malloc'd, absolute. ERR_UNAVAILABLE names the package. */
char *binary_find(enum architecture architecture, struct error *err);
/* The finders of all of them; NULL at the end. */
extern program_finder *const binary_finders[];
/* "7.2.22 (Debian ...)", malloc'd; NULL when it does not say. */
char *binary_version(const char *path);

#endif
