/* SPDX-License-Identifier: MIT */
/* Reads words for init from the kernel's command line. These words begin with "microagent.". */
#ifndef GUEST_KERNEL_LINE_H
#define GUEST_KERNEL_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the kernel's command line has exactly this word. */
bool kernel_line_says(const char *word);
/* Finds the word of the command line that begins with `front`, for example "microagent.disks=".
 * Copies what comes after `front` in this word to `out`. Returns false if there is no such word, or
 * if `size` bytes have no room for the copy. */
bool kernel_line_value(const char *front, char *out, size_t size);

#endif
