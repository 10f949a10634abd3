/* SPDX-License-Identifier: MIT */
/* Checks that a program needs no libraries, before it is put into an initrd, which has none. */
#ifndef ARTIFACT_ELF_H
#define ARTIFACT_ELF_H

#include "base/architecture.h"
#include "base/error.h"

/* Returns -1 with ERR_INVALID unless the file is a 64-bit ELF program of that architecture that
 * names no interpreter. */
int elf_require_static(const char *path, enum architecture architecture, struct error *err);

#endif
