/* SPDX-License-Identifier: MIT */
/* Text of a stranger for a terminal: of a guest, an image, or a file's name. */
#ifndef BASE_PRINT_SAFE_H
#define BASE_PRINT_SAFE_H

#include <stdbool.h>
#include <stdio.h>

/* Every control character, newlines too, and what turns the order of writing around becomes '?'. */
void print_safe(FILE *out, const char *text);
/* The same of many lines: tabs and ends of lines (also CR LF) stay. Returns how many bytes were
 * printed: at_end all of them, else those after which it does not depend on what comes. */
size_t print_safe_lines(FILE *out, const char *text, size_t len, bool at_end);
/* As print_safe(), in place. */
void make_safe(char *text);

#endif
