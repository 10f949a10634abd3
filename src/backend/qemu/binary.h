/* SPDX-License-Identifier: MIT */
/* Finds QEMU's executable and its version. */
#ifndef BACKEND_QEMU_BINARY_H
#define BACKEND_QEMU_BINARY_H

#include "backend/parts/programs.h"
#include "base/architecture.h"
#include "base/error.h"

/* Returns the absolute path of QEMU for machines of this architecture. The caller frees it. For the
 * host's own architecture, the variable MICROAGENT_QEMU names QEMU. For another architecture,
 * MICROAGENT_QEMU_ARM64 or MICROAGENT_QEMU_AMD64 names QEMU. The variable must name a binary and
 * not a script, since the cell has no shell. If the variable is not set, QEMU is
 * qemu-system-<architecture> in PATH. Fails with ERR_UNAVAILABLE if there is no QEMU. The message
 * names the package. */
char *binary_find(enum architecture architecture, struct error *err);
/* The functions that find QEMU, one for each architecture. NULL ends the list. */
extern program_finder *const binary_finders[];
/* Returns the version of QEMU, for example "7.2.22 (Debian ...)". The caller frees it. Returns NULL
 * if the program does not print a version. */
char *binary_version(const char *path);

#endif
