/* SPDX-License-Identifier: MIT */
/* Splits a stream of bytes into messages. Each line is a message, of at most MCP_LINE_BYTES. */
#ifndef MCP_LINE_H
#define MCP_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* A decoder of lines. It must begin as {0}. */
struct line_decoder {
	struct buf bytes; /* the line that was handed out last, and the bytes after it */
	size_t taken;	  /* the length in bytes of the line that was handed out last */
	size_t looked;	  /* the number of bytes after the line handed out last that are known to
			   * have no newline */
	bool skipping;	  /* true: the bytes of a line that was too long are being dropped, up to
			   * its newline */
};
void line_decoder_free(struct line_decoder *decoder);

/* Adds the next bytes of the stream. */
int line_feed(struct line_decoder *decoder, const void *bytes, size_t len, struct error *err);

enum line_got {
	LINE_NONE, /* there is no whole line yet */
	LINE_WHOLE,
	/* The line is longer than MCP_LINE_BYTES. line_next() returns this value once for such a
	 * line, as soon as the line is too long. The bytes up to the end of the line are
	 * dropped. */
	LINE_TOO_LONG
};
/* Hands out the next line without its newline. The line belongs to the decoder, and is valid until
 * the decoder is used again. */
enum line_got line_next(struct line_decoder *decoder, const char **line, size_t *len);

#endif
