/* SPDX-License-Identifier: MIT */
/* A guest's memory, as a file in memory and as a file on a disk (linux/, darwin/). */
#ifndef SUPERVISOR_TEMPLATE_MEMORY_H
#define SUPERVISOR_TEMPLATE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Makes a file in memory of `bytes` bytes, to which a machine will write. Returns its descriptor. A
 * process of another user can open the file by the name of the descriptor in /proc. */
int template_memory_new(uint64_t bytes, struct error *err);
/* Makes a file in memory with the contents and the length of `file`, and returns its descriptor. If
 * `sealed` is true, no process can write to the new file or change its length any more. */
int template_memory_load(int file, bool sealed, struct error *err);
/* Copies the memory to `file`, which must be empty. Holes stay holes. Sets *resident to the number
 * of bytes that are not in holes. */
int template_memory_store(int memory, int file, uint64_t *resident, struct error *err);

#endif
