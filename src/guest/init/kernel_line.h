/* SPDX-License-Identifier: MIT */
/* What the host says to init by the kernel's command line: words that begin with "microagent.". */
#ifndef GUEST_KERNEL_LINE_H
#define GUEST_KERNEL_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* A whole word. */
bool kernel_line_says(const char *word);
/* What follows the word that begins so ("microagent.disks="), in out. False: there is none that
 * fits. */
bool kernel_line_value(const char *front, char *out, size_t size);

#endif
