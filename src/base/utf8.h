/* SPDX-License-Identifier: MIT */
/* Characters in the bytes of a stranger. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the valid UTF-8 sequence at p (left > 0 bytes are there), or 0; then *bad is the
 * number of bytes that one U+FFFD stands for. */
size_t utf8_sequence(const uint8_t *p, size_t left, size_t *bad);

/* All of it is UTF-8 and without NUL, which many who read JSON refuse: a string says it exactly. */
bool utf8_is_whole(const void *bytes, size_t len);

/* A control character of one byte, newlines too. */
bool text_has_control(const char *text);

/*
 * Bytes of the character at text, of which left > 0 are there. *is_text: a person may see it as it
 * is. That are no controls (those of two bytes, U+0080 to U+009F, terminals obey as well, and some
 * of them as single bytes, so what is no UTF-8 is no text either), no other ends of lines, and
 * nothing that turns the order of writing around.
 */
size_t utf8_character(const char *text, size_t left, bool *is_text);

#endif
