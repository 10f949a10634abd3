/* SPDX-License-Identifier: MIT */
/* Text of a stranger for a terminal: of a guest, an image, or a file's name. */
#ifndef BASE_PRINT_SAFE_H
#define BASE_PRINT_SAFE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/utf8.h"

/* What is no text by base/utf8.h, newlines and tabs too, becomes '?'. */
void print_safe(FILE *out, const char *text);
/* The same of many lines, which come in parts: tabs and ends of lines (also CR LF) stay. The reader
 * is all zero before the first part. Returns how many bytes were printed: at_end all of them, else
 * those that do not depend on what comes. */
size_t print_safe_lines(struct utf8_reader *reader, FILE *out, const char *text, size_t len,
			bool at_end);
/* As print_safe(), in place. */
void make_safe(char *text);

#endif
