/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

/* If there is no valid sequence, sets *bad as Unicode recommends: one U+FFFD replaces all bytes
 * that are the beginning of a valid sequence but not all of it, or one byte if there are no such
 * bytes. */
size_t utf8_sequence(const uint8_t *p, size_t left, size_t *bad)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	/* The range of the second byte excludes overlong forms, surrogates, and numbers above
	 * U+10FFFF. */
	uint8_t low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
	uint8_t high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;

	*bad = 1;
	if (n == 0 || p[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++) {
		*bad = i;
		if (i >= left || p[i] < low || p[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return n;
}

bool utf8_is_whole(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	size_t bad = 1, n;

	for (size_t at = 0; at < len; at += n) {
		n = p[at] ? utf8_sequence(p + at, len - at, &bad) : 0;
		if (n == 0)
			return false;
	}
	return true;
}

bool text_has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}
