/* SPDX-License-Identifier: MIT */
/* The memory of a guest, kept as a file in memory or as a file on a disk. linux/ and darwin/ have
 * the implementations. */
#ifndef SUPERVISOR_TEMPLATE_MEMORY_H
#define SUPERVISOR_TEMPLATE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Makes a file in memory of `bytes` bytes, to which a machine will write. Returns its descriptor,
 * or -1 with an error. The file's mode lets a process of another user open it by the descriptor's
 * path in /proc. */
int template_memory_new(uint64_t bytes, struct error *err);
/* Makes a file in memory with the contents and the length of `file`, and returns its descriptor, or
 * -1 with an error. If `sealed` is true, no process can write to the new file or change its length
 * afterwards. */
int template_memory_load(int file, bool sealed, struct error *err);
/* Copies the memory to `file`, which must be empty. Holes of the memory become holes of the file.
 * Sets *resident to the number of bytes outside the holes. */
int template_memory_store(int memory, int file, uint64_t *resident, struct error *err);

#endif
