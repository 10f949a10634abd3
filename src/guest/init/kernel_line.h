/* SPDX-License-Identifier: MIT */
/* Reads the words of the kernel's command line that are for PID 1 and the agent. These words begin
 * with "microagent.". */
#ifndef GUEST_KERNEL_LINE_H
#define GUEST_KERNEL_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the kernel's command line has exactly this word. */
bool kernel_line_says(const char *word);
/* Finds the word of the command line that begins with `front`, for example "microagent.disks=".
 * Copies the rest of this word to `out`, which has `size` bytes. Returns false if there is no such
 * word, or if the rest does not fit into `out`. */
bool kernel_line_value(const char *front, char *out, size_t size);

#endif
