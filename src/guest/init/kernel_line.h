/* SPDX-License-Identifier: MIT */
/* Reads the words for init on the kernel's command line. They begin with "microagent.". */
#ifndef GUEST_KERNEL_LINE_H
#define GUEST_KERNEL_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the command line has this whole word. */
bool kernel_line_says(const char *word);
/* Copies to out what follows the word that begins with front ("microagent.disks="). Returns false
 * if there is none that fits. */
bool kernel_line_value(const char *front, char *out, size_t size);

#endif
