/* SPDX-License-Identifier: MIT */
#include "mcp/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"

void mcp_capture_init(struct mcp_capture *capture, size_t tail_room)
{
	*capture = (struct mcp_capture){.tail_room = tail_room};
}

void mcp_capture_free(struct mcp_capture *capture)
{
	for (size_t i = 0; i < 2; i++) {
		buf_free(&capture->streams[i].head);
		free(steal_ptr(&capture->streams[i].tail));
	}
}

static void put_ring(struct captured_stream *stream, const uint8_t *bytes, size_t len)
{
	if (len > stream->tail_room) {
		bytes += len - stream->tail_room;
		len = stream->tail_room;
	}
	while (len > 0) {
		size_t room = stream->tail_room - stream->tail_at;
		size_t some = len < room ? len : room;

		memcpy(stream->tail + stream->tail_at, bytes, some);
		stream->tail_at = (stream->tail_at + some) % stream->tail_room;
		bytes += some;
		len -= some;
	}
}

void mcp_capture_take(struct mcp_capture *capture, bool is_stderr, const void *bytes, size_t len)
{
	struct captured_stream *stream = &capture->streams[is_stderr];
	size_t most = (size_t)limit_get(LIMIT_MCP_OUTPUT_BYTES);
	size_t room = most > stream->head.len ? most - stream->head.len : 0;
	size_t first = stream->tail ? 0 : len < room ? len : room;

	stream->total += len;
	if (first > 0 && buf_append(&stream->head, bytes, first, NULL) < 0) {
		capture->out_of_memory = true;
		return;
	}
	if (first == len || capture->out_of_memory)
		return;
	/* The ring begins with a copy of the last bytes of `head`. So the ring is full from the
	 * start and never has gaps. */
	if (!stream->tail) {
		const struct buf *head = &stream->head;

		room = capture->tail_room < head->len ? capture->tail_room : head->len;
		stream->tail_room = room;
		stream->tail = malloc(room);
		if (!stream->tail) {
			capture->out_of_memory = true;
			return;
		}
		put_ring(stream, buf_bytes(head) + head->len - room, room);
	}
	put_ring(stream, (const uint8_t *)bytes + first, len - first);
}

static void reverse_bytes(uint8_t *from, uint8_t *to)
{
	while (from < to) {
		uint8_t byte = *from;

		*from++ = *--to;
		*to = byte;
	}
}

void captured_parts(struct captured_stream *stream, struct text_parts *out)
{
	uint8_t *ring = stream->tail;

	/* Rotates the ring in place: reverses each of its two parts, and then the whole ring. */
	if (ring) {
		reverse_bytes(ring, ring + stream->tail_at);
		reverse_bytes(ring + stream->tail_at, ring + stream->tail_room);
		reverse_bytes(ring, ring + stream->tail_room);
		stream->tail_at = 0;
	}
	*out = (struct text_parts){.head = buf_bytes(&stream->head),
				   .head_len = stream->head.len,
				   .tail = ring,
				   .tail_len = ring ? stream->tail_room : 0,
				   .total = stream->total};
}

uint64_t mcp_capture_total(const struct mcp_capture *capture)
{
	return capture->streams[0].total + capture->streams[1].total;
}
