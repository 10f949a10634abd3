/* SPDX-License-Identifier: MIT */
/* Text of a stranger for a terminal: of a guest, an image, or a file's name. */
#ifndef BASE_PRINT_SAFE_H
#define BASE_PRINT_SAFE_H

#include <stdio.h>

/* Every control character, newlines too, and what turns the order of writing around becomes '?'. */
void print_safe(FILE *out, const char *text);

#endif
