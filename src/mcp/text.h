/* SPDX-License-Identifier: MIT */
/*
 * Prepares text of a guest for a model, and for a person who watches the model. Nothing in the
 * result can act on a terminal or be invisible. Tab, newline and every character that base/utf8.h
 * counts as text stay as they are. Any other character becomes a visible escape ("\x1b", "\u202e",
 * "\u{e0041}").
 */
#ifndef MCP_TEXT_H
#define MCP_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Appends the escaped bytes to `out`. A byte that is not UTF-8 becomes an escape like "\xff". */
int text_escape(const void *bytes, size_t len, struct buf *out, struct error *err);
/* Escapes every text in a JSON value, in place. The names of members are not escaped, since they
 * come from the server. */
int text_escape_all(json_t *value, struct error *err);

/* The kept bytes of a stream: its first bytes (`head`), which may be all of its bytes, and its last
 * bytes (`tail`). */
struct text_parts {
	const uint8_t *head, *tail;
	size_t head_len, tail_len;
	uint64_t total;
};
/* Returns true if all kept bytes are UTF-8. U+0000 counts as valid. */
bool text_is_utf8(const struct text_parts *parts);
/* Appends the escaped stream to `out`. If the escaped stream is longer than `limit` bytes, appends
 * only its beginning (two fifths of `limit`) and its end (three fifths), and a note between them.
 * The note says how many bytes were cut, and where they can be read (`where`; NULL: nowhere). Sets
 * *cut to true if bytes were cut. */
int text_cut(const struct text_parts *parts, size_t limit, const char *where, struct buf *out,
	     bool *cut, struct error *err);

#endif
