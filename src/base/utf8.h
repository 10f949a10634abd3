/* SPDX-License-Identifier: MIT */
/* Characters in the bytes of a stranger. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the longest character. */
#define UTF8_LONGEST ((size_t)4)

/* The length of the valid UTF-8 sequence at p (left > 0 bytes are there), or 0; then *bad is the
 * number of bytes that one U+FFFD stands for. */
size_t utf8_sequence(const uint8_t *p, size_t left, size_t *bad);

/* All of it is UTF-8 and without NUL, which many who read JSON refuse: a string says it exactly. */
bool utf8_is_whole(const void *bytes, size_t len);

/* A control character of one byte, newlines too. */
bool text_has_control(const char *text);

/* Where a text is being read: the code of the character that was read last, and of the two before
 * it. All zero at the beginning of a text. */
struct utf8_reader {
	uint32_t code, before, before_that;
};

/*
 * Reads the character at text, of which left > 0 bytes are there, and returns its bytes. *is_text
 * tells whether a person may see the character as it is. These are not text: what is no UTF-8;
 * controls, also those of two bytes, U+0080 to U+009F, which terminals obey; ends of lines that
 * only some programs know; what turns the order of writing around; and what is drawn as nothing,
 * since many of those spell a text that nobody sees. A joiner (U+200C, U+200D) is text where a
 * script or an emoji needs it, and U+FE0F behind an emoji.
 */
size_t utf8_read(struct utf8_reader *reader, const char *text, size_t left, bool *is_text);
/* Whether *is_text of the character that was read last depends on the one behind it. */
bool utf8_needs_next(const struct utf8_reader *reader);

#endif
