/* SPDX-License-Identifier: MIT */
/* A guest's memory as a file in memory, and as a file on a disk (linux/, darwin/). */
#ifndef SUPERVISOR_TEMPLATE_MEMORY_H
#define SUPERVISOR_TEMPLATE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Makes a file in memory of this length, to which a machine will write. Returns a descriptor, whose
 * name in /proc a process of another user can open. */
int template_memory_new(uint64_t bytes, struct error *err);
/* Makes a file in memory with the contents and the length of file, and returns its descriptor.
 * sealed: from then on no process can write to it, or change its length. */
int template_memory_load(int file, bool sealed, struct error *err);
/* Copies the memory to file, which is empty. Holes stay holes. Sets *resident to the number of
 * bytes that are not in holes. */
int template_memory_store(int memory, int file, uint64_t *resident, struct error *err);

#endif
