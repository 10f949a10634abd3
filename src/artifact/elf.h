/* SPDX-License-Identifier: MIT */
/* Checks that a program needs no libraries. A program in an initrd must not need libraries, because
 * an initrd has none. */
#ifndef ARTIFACT_ELF_H
#define ARTIFACT_ELF_H

#include "base/architecture.h"
#include "base/error.h"

/* Returns 0 if the file is a 64-bit ELF program for the architecture and names no interpreter.
 * Otherwise returns -1 with ERR_INVALID. */
int elf_require_static(const char *path, enum architecture architecture, struct error *err);

#endif
