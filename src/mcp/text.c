/* SPDX-License-Identifier: MIT */
#include "mcp/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/min.h"
#include "base/utf8.h"

#define UNIT_ROOM 16

/* Writes the visible form of the character at p to `out`, followed by a NUL. Returns how many bytes
 * the character has at p. */
static size_t text_unit(struct utf8_reader *reader, const uint8_t *p, size_t left,
			char out[UNIT_ROOM])
{
	bool is_text, layout = *p == '\n' || *p == '\t';
	size_t len = utf8_read(reader, (const char *)p, left, &is_text), bad;

	if (layout || is_text) {
		memcpy(out, p, len);
		out[len] = '\0';
	} else if (p[0] == '\r' && left > 1 && p[1] == '\n') {
		snprintf(out, UNIT_ROOM, "\r\n");
		return 2;
	} else if (utf8_sequence(p, left, &bad) == 0 || len == 1) {
		snprintf(out, UNIT_ROOM, "\\x%02x", p[0]);
		return 1;
	} else {
		snprintf(out, UNIT_ROOM, len == 4 ? "\\u{%x}" : "\\u%04x", reader->code);
	}
	return len;
}

/* Escapes the `len` bytes at p. `reader` has already read the bytes before p. */
static int escape_rest(struct utf8_reader *reader, const uint8_t *p, size_t len, struct buf *out,
		       struct error *err)
{
	char unit[UNIT_ROOM];

	for (size_t at = 0; at < len;) {
		at += text_unit(reader, p + at, len - at, unit);
		if (buf_append(out, unit, strlen(unit), err) < 0)
			return -1;
	}
	return 0;
}

int text_escape(const void *bytes, size_t len, struct buf *out, struct error *err)
{
	struct utf8_reader reader = {0};

	return escape_rest(&reader, bytes, len, out, err);
}

int text_escape_all(json_t *value, struct error *err)
{
	const char *key, *text = json_string_value(value);
	size_t len = json_string_length(value), i;
	autobuf struct buf out = BUF_INIT(0);
	json_t *part;

	if (text) {
		if (text_escape(text, len, &out, err) < 0)
			return -1;
		if ((out.len != len || memcmp(buf_bytes(&out), text, len) != 0) &&
		    json_string_setn(value, (const char *)buf_bytes(&out), out.len) < 0)
			return error_errno(err, ENOMEM, "text");
		return 0;
	}
	json_array_foreach(value, i, part)
	{
		if (text_escape_all(part, err) < 0)
			return -1;
	}
	json_object_foreach(value, key, part)
	{
		if (text_escape_all(part, err) < 0)
			return -1;
	}
	return 0;
}

/* Returns the number of bytes at the end of p that belong to an incomplete character. */
static size_t unfinished(const uint8_t *p, size_t len)
{
	size_t bad;

	for (size_t back = 1; back <= 3 && back <= len; back++) {
		if (p[len - back] >= 0xc2)
			return utf8_sequence(p + len - back, back, &bad) == 0 && bad == back ? back
											     : 0;
	}
	return 0;
}

/* Returns the number of bytes at the beginning of p that belong to a character which began before
 * p. */
static size_t continued(const uint8_t *p, size_t len)
{
	size_t n = 0;

	while (n < 3 && n < len && (p[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static bool is_utf8_or_nul(const uint8_t *p, size_t len)
{
	size_t bad, n;

	for (size_t at = 0; at < len; at += n) {
		n = p[at] ? utf8_sequence(p + at, len - at, &bad) : 1;
		if (n == 0)
			return false;
	}
	return true;
}

static bool is_all(const struct text_parts *parts)
{
	return parts->head_len == parts->total;
}

bool text_is_utf8(const struct text_parts *parts)
{
	size_t skipped;

	if (is_all(parts))
		return is_utf8_or_nul(parts->head, parts->head_len);
	skipped = continued(parts->tail, parts->tail_len);
	return is_utf8_or_nul(parts->head,
			      parts->head_len - unfinished(parts->head, parts->head_len)) &&
	       is_utf8_or_nul(parts->tail + skipped, parts->tail_len - skipped);
}

/* Appends the visible forms of the first characters of p, as many as fit into `room` bytes. Sets
 * *taken to the number of bytes that these characters have at p. */
static int put_beginning(const uint8_t *p, size_t len, size_t room, struct buf *out, size_t *taken,
			 struct error *err)
{
	struct utf8_reader reader = {0};
	char unit[UNIT_ROOM];

	for (*taken = 0; *taken < len;) {
		size_t n = text_unit(&reader, p + *taken, len - *taken, unit), size = strlen(unit);

		if (size > room)
			break;
		if (buf_append(out, unit, size, err) < 0)
			return -1;
		room -= size;
		*taken += n;
	}
	return 0;
}

/* Returns the first position from which the visible forms of all characters up to the end fit into
 * `room` bytes. Moves the reader to this position. */
static size_t find_end(struct utf8_reader *reader, const uint8_t *p, size_t len, size_t room)
{
	size_t at = continued(p, len), all = 0;
	struct utf8_reader ahead = *reader;
	char unit[UNIT_ROOM];

	for (size_t i = at; i < len;) {
		i += text_unit(&ahead, p + i, len - i, unit);
		all += strlen(unit);
	}
	while (all > room) {
		at += text_unit(reader, p + at, len - at, unit);
		all -= strlen(unit);
	}
	return at;
}

static int put_cut(const struct text_parts *parts, size_t limit, const char *where, struct buf *out,
		   struct error *err)
{
	const uint8_t *end = is_all(parts) ? parts->head : parts->tail;
	size_t end_len = is_all(parts) ? parts->head_len : parts->tail_len;
	size_t near = min_size(end_len, limit), from, taken;
	struct utf8_reader reader = {0};

	/* Escaping never makes a text shorter, so only the last `limit` bytes can fit. */
	end += end_len - near;
	from = find_end(&reader, end, near, limit - limit * 2 / 5);
	if (put_beginning(parts->head, min_size(parts->head_len, limit), limit * 2 / 5, out, &taken,
			  err) < 0 ||
	    buf_printf(out, err, "\n[... %llu bytes are cut out here%s%s ...]\n",
		       (unsigned long long)(parts->total - taken - (near - from)),
		       where ? ": " : "", where ? where : "") < 0)
		return -1;
	return escape_rest(&reader, end + from, near - from, out, err);
}

int text_cut(const struct text_parts *parts, size_t limit, const char *where, struct buf *out,
	     bool *cut, struct error *err)
{
	autobuf struct buf whole = BUF_INIT(0);

	if (is_all(parts) && parts->total <= limit) {
		if (text_escape(parts->head, parts->head_len, &whole, err) < 0)
			return -1;
		if (whole.len <= limit) {
			*cut = false;
			return buf_append(out, buf_bytes(&whole), whole.len, err);
		}
	}
	*cut = true;
	return put_cut(parts, limit, where, out, err);
}
