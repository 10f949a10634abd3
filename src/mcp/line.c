/* SPDX-License-Identifier: MIT */
#include "mcp/line.h"

#include <string.h>

#include "base/limits.h"

void line_decoder_free(struct line_decoder *decoder)
{
	buf_free(&decoder->bytes);
	*decoder = (struct line_decoder){0};
}

static void drop_taken(struct line_decoder *decoder)
{
	buf_consume(&decoder->bytes, decoder->taken);
	decoder->taken = 0;
}

int line_feed(struct line_decoder *decoder, const void *bytes, size_t len, struct error *err)
{
	const char *newline;

	drop_taken(decoder);
	if (decoder->skipping) {
		newline = memchr(bytes, '\n', len);
		if (!newline)
			return 0;
		decoder->skipping = false;
		len -= (size_t)(newline + 1 - (const char *)bytes);
		bytes = newline + 1;
	}
	return buf_append(&decoder->bytes, bytes, len, err);
}

enum line_got line_next(struct line_decoder *decoder, const char **line, size_t *len)
{
	size_t most = (size_t)limit_get(LIMIT_MCP_LINE_BYTES);
	const char *start, *newline;

	drop_taken(decoder);
	if (decoder->bytes.len == 0)
		return LINE_NONE;
	start = (const char *)buf_bytes(&decoder->bytes);
	newline = memchr(start + decoder->looked, '\n', decoder->bytes.len - decoder->looked);
	if ((newline ? (size_t)(newline - start) : decoder->bytes.len) > most) {
		decoder->skipping = !newline;
		decoder->taken = newline ? (size_t)(newline + 1 - start) : decoder->bytes.len;
		decoder->looked = 0;
		return LINE_TOO_LONG;
	}
	decoder->looked = newline ? 0 : decoder->bytes.len;
	if (!newline)
		return LINE_NONE;
	*line = start;
	*len = (size_t)(newline - start);
	decoder->taken = *len + 1;
	return LINE_WHOLE;
}
