/* SPDX-License-Identifier: MIT */
/* Messages out of a stream of bytes: one a line, no longer than MCP_LINE_BYTES. */
#ifndef MCP_LINE_H
#define MCP_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* Start from {0}. */
struct line_decoder {
	struct buf bytes; /* what is not taken yet */
	size_t taken;	  /* of bytes: the line that was handed out last */
	size_t looked;	  /* bytes behind that in which there is no newline */
	bool skipping;	  /* the rest of a line that was too long */
};
void line_decoder_free(struct line_decoder *decoder);

int line_feed(struct line_decoder *decoder, const void *bytes, size_t len, struct error *err);

enum line_got {
	LINE_NONE, /* more is needed */
	LINE_WHOLE,
	LINE_TOO_LONG /* told once, when it is known; the rest of it is dropped */
};
/* The line, without its newline, is valid until the next call for the decoder. */
enum line_got line_next(struct line_decoder *decoder, const char **line, size_t *len);

#endif
