/* SPDX-License-Identifier: MIT */
/* Reads the words for init on the kernel's command line. They begin with "microagent.". */
#ifndef GUEST_KERNEL_LINE_H
#define GUEST_KERNEL_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the command line has this whole word. */
bool kernel_line_says(const char *word);
/* Finds the word of the command line that begins with `front`, for example "microagent.disks=", and
 * copies the rest of the word to `out`. Returns false if there is no such word, or its rest is
 * longer than `size` allows. */
bool kernel_line_value(const char *front, char *out, size_t size);

#endif
