/* SPDX-License-Identifier: MIT */
/* Prints text that is not trusted on a terminal: the text of a guest or an image, or a file's
 * name. */
#ifndef BASE_PRINT_SAFE_H
#define BASE_PRINT_SAFE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/utf8.h"

/* Prints text with '?' for each character that is not text by base/utf8.h, also for newlines and
 * tabs. */
void print_safe(FILE *out, const char *text);
/* Prints text of many lines that comes in parts; tabs and ends of lines (also CR LF) stay. The
 * reader is all zero before the first part. Returns how many bytes were printed: if at_end all of
 * them, else those that do not depend on the next part. */
size_t print_safe_lines(struct utf8_reader *reader, FILE *out, const char *text, size_t len,
			bool at_end);
/* Replaces characters in place as print_safe() does. */
void make_safe(char *text);

#endif
