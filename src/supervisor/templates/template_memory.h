/* SPDX-License-Identifier: MIT */
/* A guest's memory as a file that lies in memory, and as one on a disk: linux/, darwin/. */
#ifndef SUPERVISOR_TEMPLATE_MEMORY_H
#define SUPERVISOR_TEMPLATE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Empty, to be written to by a machine. Returns a descriptor that a process of another user can
 * open anew by its name in /proc. */
int template_memory_new(uint64_t bytes, struct error *err);
/* The same with the bytes of file, and as long. sealed: nobody can write to it, or change its
 * length, any more. */
int template_memory_load(int file, bool sealed, struct error *err);
/* The other way: holes stay holes. file is empty. *resident: bytes that are none. */
int template_memory_store(int memory, int file, uint64_t *resident, struct error *err);

#endif
