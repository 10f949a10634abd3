/* SPDX-License-Identifier: MIT */
#include "base/print_safe.h"

#include <string.h>

#include "base/json.h"

/* Bytes at text that are no text: controls, those of two bytes too (U+0080 to U+009F, which terminals obey
 * as well, and some of them as single bytes), what is no UTF-8, and what turns the order of writing
 * around (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069). */
static size_t control_at(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t bad = 1;

	if (c[0] < 0x20 || c[0] == 0x7f)
		return 1;
	if (c[0] < 0x80)
		return 0;
	if (json_utf8_sequence(c, strnlen(text, 4), &bad) == 0)
		return bad;
	if ((c[0] == 0xc2 && c[1] < 0xa0) || (c[0] == 0xd8 && c[1] == 0x9c))
		return 2;
	if (c[0] != 0xe2)
		return 0;
	if (c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xaa && c[2] <= 0xae)))
		return 3;
	return c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9 ? 3 : 0;
}

void print_safe(FILE *out, const char *text)
{
	while (*text) {
		size_t clean = 0;

		while (text[clean] && !control_at(text + clean))
			clean++;
		fwrite(text, 1, clean, out);
		text += clean;
		if (*text) {
			putc('?', out);
			text += control_at(text);
		}
	}
}
