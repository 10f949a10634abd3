/* SPDX-License-Identifier: MIT */
#include "base/print_safe.h"

#include <string.h>

#include "base/utf8.h"

void print_safe(FILE *out, const char *text)
{
	struct utf8_reader reader = {0};

	while (*text) {
		bool is_text;
		size_t len = utf8_read(&reader, text, strnlen(text, 2 * UTF8_LONGEST), &is_text);

		if (is_text)
			fwrite(text, 1, len, out);
		else
			putc('?', out);
		text += len;
	}
}

/* Returns the length in bytes of the "\n", "\t" or "\r\n" at the beginning of `text`; 0 if `text`
 * begins with none of them. */
static size_t layout(const char *text, size_t left)
{
	if (*text == '\n' || *text == '\t')
		return 1;
	return left > 1 && text[0] == '\r' && text[1] == '\n' ? 2 : 0;
}

/* Returns true if bytes that were not received yet may change what is printed for the `n` bytes at
 * `text`, which were read last. There are three such cases: a CR may be followed by a LF, the bytes
 * may be the beginning of a longer character, and a character may depend on the character after
 * it. */
static bool depends_on_more(const struct utf8_reader *reader, const char *text, size_t n,
			    size_t left, bool is_text)
{
	if (utf8_needs_next(reader))
		return left < n + UTF8_LONGEST;
	return !is_text && left < UTF8_LONGEST &&
	       (*text == '\r' ? left == 1 : (unsigned char)*text >= 0xc0);
}

size_t print_safe_lines(struct utf8_reader *reader, FILE *out, const char *text, size_t len,
			bool at_end)
{
	size_t at = 0;

	while (at < len) {
		struct utf8_reader before = *reader;
		bool is_text;
		size_t n = utf8_read(reader, text + at, len - at, &is_text),
		       shape = layout(text + at, len - at);

		if (shape > 0) {
			is_text = true;
			n = shape;
		}
		if (!at_end && depends_on_more(reader, text + at, n, len - at, is_text)) {
			*reader = before;
			break;
		}
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
	struct utf8_reader reader = {0};
	char *to = text;

	while (*text) {
		bool is_text;
		size_t len = utf8_read(&reader, text, strnlen(text, 2 * UTF8_LONGEST), &is_text);

		if (is_text)
			memmove(to, text, len);
		else
			*to = '?';
		to += is_text ? len : 1;
		text += len;
	}
	*to = '\0';
}
