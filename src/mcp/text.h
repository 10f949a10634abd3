/* SPDX-License-Identifier: MIT */
/*
 * Prepares words of a guest for a model and for the person who looks on. Nothing in the result can
 * act on a terminal or hide from a reader: every character that base/utf8.h does not count as text,
 * except tab and newline, becomes a visible escape ("\x1b", "\u202e", "\u{e0041}").
 */
#ifndef MCP_TEXT_H
#define MCP_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Appends the escaped bytes to out. Single bytes that are not UTF-8 become "\xff" and the like. */
int text_escape(const void *bytes, size_t len, struct buf *out, struct error *err);
/* Escapes every text in a value, in place. The names of members stay, since they are the server's
 * own. */
int text_escape_all(json_t *value, struct error *err);

/* What was kept of a stream: its first bytes, which may be all of them, and its last bytes. */
struct text_parts {
	const uint8_t *head, *tail;
	size_t head_len, tail_len;
	uint64_t total;
};
/* Returns true if the kept bytes are all UTF-8, where U+0000 is allowed. */
bool text_is_utf8(const struct text_parts *parts);
/* Appends the escaped stream. If it has more than limit bytes, appends only its beginning (two
 * fifths) and its end (three fifths), and between them how many bytes were cut and where they can
 * be read (NULL: nowhere). */
int text_cut(const struct text_parts *parts, size_t limit, const char *where, struct buf *out,
	     bool *cut, struct error *err);

#endif
