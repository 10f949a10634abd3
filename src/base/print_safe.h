/* SPDX-License-Identifier: MIT */
/* Prints text that is not trusted (from a guest, from an image, or the name of a file) so that it
 * cannot control a terminal. */
#ifndef BASE_PRINT_SAFE_H
#define BASE_PRINT_SAFE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/utf8.h"

/* Prints `text`, with '?' in place of each character that is not printable by base/utf8.h. Newlines
 * and tabs are replaced too. */
void print_safe(FILE *out, const char *text);
/* Prints one part of a text of many lines like print_safe(), but does not replace tabs and line
 * ends (also CR LF). `reader` must be all zero before the first part. `at_end` is true for the last
 * part. Returns the number of bytes that were printed or replaced. For the last part this is `len`.
 * For other parts it may be less, because the last bytes depend on what follows. The caller then
 * puts the remaining bytes before the next part. */
size_t print_safe_lines(struct utf8_reader *reader, FILE *out, const char *text, size_t len,
			bool at_end);
/* Replaces the characters in `text` that print_safe() would replace. */
void make_safe(char *text);

#endif
