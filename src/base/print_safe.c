/* SPDX-License-Identifier: MIT */
#include "base/print_safe.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"

/* What turns the order of writing around: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
 * U+2069. */
static bool is_order_mark(const unsigned char *c)
{
	if (c[0] == 0xd8)
		return c[1] == 0x9c;
	if (c[0] != 0xe2)
		return false;
	if (c[1] == 0x80)
		return c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xaa && c[2] <= 0xae);
	return c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9;
}

/* Bytes of the character at text; *is_text: it is no control (those of two bytes, U+0080 to U+009F,
 * terminals obey as well, and some of them as single bytes, so what is no UTF-8 is none either). */
static size_t character(const char *text, bool *is_text)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t bad = 1, len = json_utf8_sequence(c, strnlen(text, 4), &bad);

	*is_text = len > 0 && c[0] >= 0x20 && c[0] != 0x7f && !(c[0] == 0xc2 && c[1] < 0xa0) &&
		   !is_order_mark(c);
	return len > 0 ? len : bad;
}

void print_safe(FILE *out, const char *text)
{
	while (*text) {
		bool is_text;
		size_t len = character(text, &is_text);

		if (is_text)
			fwrite(text, 1, len, out);
		else
			putc('?', out);
		text += len;
	}
}
