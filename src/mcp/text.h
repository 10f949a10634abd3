/* SPDX-License-Identifier: MIT */
/*
 * Words of a guest for a model and for the person who looks on. Nothing in them acts on a terminal
 * or hides from a reader: all that is no text by base/utf8.h, but tab and newline, becomes a
 * visible escape ("\x1b", "\u202e", "\u{e0041}").
 */
#ifndef MCP_TEXT_H
#define MCP_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Appends it; single bytes that are no UTF-8 become "\xff" too. */
int text_escape(const void *bytes, size_t len, struct buf *out, struct error *err);
/* The same of every text in a value, in place; of members the names are ours. */
int text_escape_all(json_t *value, struct error *err);

/* What was kept of a stream: its first bytes, which may be all, and its last ones. */
struct text_parts {
	const uint8_t *head, *tail;
	size_t head_len, tail_len;
	uint64_t total;
};
/* Whether there is only UTF-8, and U+0000, in what was kept. */
bool text_is_utf8(const struct text_parts *parts);
/* Appends, escaped, all of it, or where that is more than limit bytes its beginning (two fifths)
 * and its end (three fifths) and between them how many bytes were cut, and where they are (NULL:
 * nowhere). */
int text_cut(const struct text_parts *parts, size_t limit, const char *where, struct buf *out,
	     bool *cut, struct error *err);

#endif
