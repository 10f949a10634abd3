/* SPDX-License-Identifier: MIT */
#include "base/print_safe.h"

#include <string.h>

#include "base/utf8.h"

void print_safe(FILE *out, const char *text)
{
	while (*text) {
		bool is_text;
		size_t len = utf8_character(text, strnlen(text, 4), &is_text);

		if (is_text)
			fwrite(text, 1, len, out);
		else
			putc('?', out);
		text += len;
	}
}

/* "\n", "\t" or "\r\n" at text: its bytes, else 0. */
static size_t layout(const char *text, size_t left)
{
	if (*text == '\n' || *text == '\t')
		return 1;
	return left > 1 && text[0] == '\r' && text[1] == '\n' ? 2 : 0;
}

/* A CR may be of a line's end, and these bytes the beginning of a character. */
static bool may_go_on(const char *text, size_t left)
{
	return left < 4 && (*text == '\r' ? left == 1 : (unsigned char)*text >= 0xc0);
}

size_t print_safe_lines(FILE *out, const char *text, size_t len, bool at_end)
{
	size_t at = 0;

	while (at < len) {
		bool is_text = true;
		size_t n = layout(text + at, len - at);

		if (n == 0)
			n = utf8_character(text + at, len - at, &is_text);
		if (!is_text && !at_end && may_go_on(text + at, len - at))
			break;
		if (is_text)
			fwrite(text + at, 1, n, out);
		else
			putc('?', out);
		at += n;
	}
	return at;
}

void make_safe(char *text)
{
	char *to = text;

	while (*text) {
		bool is_text;
		size_t len = utf8_character(text, strnlen(text, 4), &is_text);

		if (is_text)
			memmove(to, text, len);
		else
			*to = '?';
		to += is_text ? len : 1;
		text += len;
	}
	*to = '\0';
}
