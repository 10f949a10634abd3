/* SPDX-License-Identifier: MIT */
/* Keeps the output of a command: the first MCP_OUTPUT_BYTES and the last bytes of each stream. */
#ifndef MCP_CAPTURE_H
#define MCP_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "mcp/text.h"

struct captured_stream {
	struct buf head;
	uint8_t *tail; /* a ring with the last bytes; NULL while `head` is not full */
	size_t tail_room, tail_at;
	uint64_t total; /* the number of bytes of the whole stream */
};

struct mcp_capture {
	struct captured_stream streams[2]; /* streams[0] is stdout, streams[1] is stderr */
	/* The number of last bytes of each stream that are kept. It is the number of bytes that an
	 * answer may have. */
	size_t tail_room;
	bool out_of_memory;
};

void mcp_capture_init(struct mcp_capture *capture, size_t tail_room);
void mcp_capture_free(struct mcp_capture *capture);
void mcp_capture_take(struct mcp_capture *capture, bool is_stderr, const void *bytes, size_t len);
/* Sets *out to the two parts of a stream that are kept: its first and its last bytes. Rotates the
 * ring, so that its bytes are in order. The pointers are valid until more output is taken. */
void captured_parts(struct captured_stream *stream, struct text_parts *out);
uint64_t mcp_capture_total(const struct mcp_capture *capture);

#endif
