/* SPDX-License-Identifier: MIT */
#include "guest/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"

static void writer_put(struct writer *w, const void *bytes, size_t len)
{
	if (!w->failed)
		w->failed = buf_append(&w->text, bytes, len, w->err) < 0;
}

static void put_string(struct writer *w, const char *text)
{
	writer_put(w, text, strlen(text));
}

static void put_key(struct writer *w, const char *key)
{
	put_string(w, w->begun ? ",\"" : "\"");
	w->begun = true;
	put_string(w, key);
	put_string(w, "\":");
}

/* Returns true if the byte is ASCII and needs no escape in JSON. */
static bool needs_no_escape(uint8_t c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Writes one character that needs an escape or is not ASCII. A byte that is not UTF-8 becomes
 * U+FFFD. Returns how many of the `left` bytes at `p` it has used. */
static size_t put_special(struct writer *w, const uint8_t *p, size_t left)
{
	static const char short_names[0x80] = {
		['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
		['\t'] = 't', ['"'] = '"',  ['\\'] = '\\'};
	static const char digits[] = "0123456789abcdef";
	char escape[6] = {'\\', 'u', '0', '0', 0, 0};
	size_t bad = 1, n = p[0] ? utf8_sequence(p, left, &bad) : 0;

	if (n != 1) {
		writer_put(w, n ? (const char *)p : "\xef\xbf\xbd", n ? n : 3);
		return n ? n : bad;
	}
	if (short_names[p[0]]) {
		escape[1] = short_names[p[0]];
		writer_put(w, escape, 2);
	} else {
		escape[4] = digits[p[0] >> 4];
		escape[5] = digits[p[0] & 15];
		writer_put(w, escape, sizeof(escape));
	}
	return 1;
}

struct writer writer_begin(struct error *err)
{
	struct writer w = {.err = err};

	put_string(&w, "{");
	return w;
}

static void put_quoted(struct writer *w, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	size_t run;

	put_string(w, "\"");
	for (size_t i = 0; i < len && !w->failed; i += run) {
		for (run = 0; i + run < len && needs_no_escape(p[i + run]); run++)
			;
		if (run > 0)
			writer_put(w, p + i, run);
		else
			run = put_special(w, p + i, len - i);
	}
	put_string(w, "\"");
}

void writer_bytes(struct writer *w, const char *key, const void *bytes, size_t len)
{
	put_key(w, key);
	put_quoted(w, bytes, len);
}

void writer_text(struct writer *w, const char *key, const char *text)
{
	writer_bytes(w, key, text, strlen(text));
}

void writer_raw(struct writer *w, const char *key, const char *value)
{
	put_key(w, key);
	put_string(w, value);
}

void writer_number(struct writer *w, const char *key, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	writer_raw(w, key, text);
}

void writer_bool(struct writer *w, const char *key, bool value)
{
	writer_raw(w, key, value ? "true" : "false");
}

void writer_if_true(struct writer *w, const char *key, bool value)
{
	if (value)
		writer_bool(w, key, true);
}

void writer_base64(struct writer *w, const char *key, const void *bytes, size_t len)
{
	autofree char *text = base64_encode(bytes, len, w->err);

	put_key(w, key);
	put_string(w, "\"");
	if (text)
		put_string(w, text);
	else
		w->failed = true;
	put_string(w, "\"");
}

void writer_open_list(struct writer *w, const char *key)
{
	put_key(w, key);
	put_string(w, "[");
	w->begun = false;
}

void writer_open_item(struct writer *w)
{
	put_string(w, w->begun ? ",{" : "{");
	w->begun = false;
}

void writer_close_item(struct writer *w)
{
	put_string(w, "}");
	w->begun = true;
}

void writer_list_bytes(struct writer *w, const void *bytes, size_t len)
{
	if (w->begun)
		put_string(w, ",");
	put_quoted(w, bytes, len);
	w->begun = true;
}

void writer_close_list(struct writer *w)
{
	put_string(w, "]");
	w->begun = true;
}

char *writer_end(struct writer *w)
{
	char *text = NULL;

	put_string(w, "}");
	if (!w->failed)
		text = buf_steal_string(&w->text, w->err);
	buf_free(&w->text);
	return text;
}
