/* SPDX-License-Identifier: MIT */
/* Reads characters from bytes that are not trusted. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of bytes of the longest character in UTF-8. */
#define UTF8_LONGEST ((size_t)4)

/* Returns the length of the valid UTF-8 sequence at p, in bytes. `left` is the number of bytes from
 * p to the end, at least 1. If there is no valid sequence at p, returns 0 and sets *bad to the
 * number of bytes that one U+FFFD replaces. */
size_t utf8_sequence(const uint8_t *p, size_t left, size_t *bad);

/* Returns true if all bytes are UTF-8 without a NUL, so that a JSON string can contain the bytes
 * unchanged. (Many JSON parsers refuse a NUL.) */
bool utf8_is_whole(const void *bytes, size_t len);

/* Returns true if the text has a control character of one byte. A newline is a control character
 * too. */
bool text_has_control(const char *text);

/* The state of reading a text: the codes of the last three characters. `code` is the character that
 * was read last. All zero at the beginning of a text. */
struct utf8_reader {
	uint32_t code, before, before_that;
};

/*
 * Reads the character at `text`, and returns its number of bytes. `left` is the number of bytes
 * from `text` to the end, at least 1. Sets *is_text to true if the character can be shown to a
 * person unchanged. The following are not text: bytes that are not UTF-8; control characters, also
 * U+0080 to U+009F, which terminals obey; line ends that only some programs recognise; characters
 * that change the direction of writing; and invisible characters, because many of them can form a
 * hidden text. Some invisible characters are text in certain places: a joiner (U+200C, U+200D) if a
 * script or an emoji needs it, U+FE0F after an emoji, and a blank other than the ASCII blank
 * between words.
 */
size_t utf8_read(struct utf8_reader *reader, const char *text, size_t left, bool *is_text);
/* Returns true if *is_text of the character that was read last depends on the character after
 * it. */
bool utf8_needs_next(const struct utf8_reader *reader);

#endif
