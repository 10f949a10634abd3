/* SPDX-License-Identifier: MIT */
/* Prints text that is not trusted (from a guest, from an image, a file's name) so that it can do no
 * harm on a terminal. */
#ifndef BASE_PRINT_SAFE_H
#define BASE_PRINT_SAFE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/utf8.h"

/* Prints `text`, but '?' instead of each character that is not text by base/utf8.h, also instead of
 * newlines and tabs. */
void print_safe(FILE *out, const char *text);
/* Prints one part of a text of many lines like print_safe(), but tabs and ends of lines (also CR
 * LF) stay. `reader` is all zero before the first part. `at_end`: this is the last part. Returns
 * how many bytes were printed. In the last part these are all bytes. In other parts some bytes at
 * the end may be left, because they depend on what follows; the caller puts them before the next
 * part. */
size_t print_safe_lines(struct utf8_reader *reader, FILE *out, const char *text, size_t len,
			bool at_end);
/* Replaces characters in place as print_safe() does. */
void make_safe(char *text);

#endif
