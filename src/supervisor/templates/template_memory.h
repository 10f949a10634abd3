/* SPDX-License-Identifier: MIT */
/* A guest's memory as a file in memory, and as a file on a disk: linux/, darwin/. */
#ifndef SUPERVISOR_TEMPLATE_MEMORY_H
#define SUPERVISOR_TEMPLATE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Makes an empty memory for a machine to write to. Returns a descriptor that a process of another
 * user can open anew by its name in /proc. */
int template_memory_new(uint64_t bytes, struct error *err);
/* Makes a memory with the bytes and the length of file. sealed: no process can write to it, or
 * change its length, any more. */
int template_memory_load(int file, bool sealed, struct error *err);
/* Copies the memory to file, which is empty. Holes stay holes. *resident: how many bytes are not in
 * holes. */
int template_memory_store(int memory, int file, uint64_t *resident, struct error *err);

#endif
