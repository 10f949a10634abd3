/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

/* One replacement stands for the longest beginning of a valid sequence, else for one byte, as
 * Unicode advises. */
size_t utf8_sequence(const uint8_t *p, size_t left, size_t *bad)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	/* The second byte excludes overlong forms, surrogates and what is above U+10FFFF. */
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

/* What turns the order of writing around, and ends of lines that only some know: U+061C, U+200E,
 * U+200F, U+2028 to U+202E, U+2066 to U+206F. */
static bool is_order_mark(const uint8_t *c)
{
	if (c[0] == 0xd8)
		return c[1] == 0x9c;
	if (c[0] != 0xe2)
		return false;
	if (c[1] == 0x80)
		return c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae);
	return c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xaf;
}

size_t utf8_character(const char *text, size_t left, bool *is_text)
{
	const uint8_t *c = (const uint8_t *)text;
	size_t bad = 1, len = utf8_sequence(c, left, &bad);

	*is_text = len > 0 && c[0] >= 0x20 && c[0] != 0x7f && !(c[0] == 0xc2 && c[1] < 0xa0) &&
		   !is_order_mark(c);
	return len > 0 ? len : bad;
}
