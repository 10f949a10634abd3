/* SPDX-License-Identifier: MIT */
#include "base/frame.h"

#include <string.h>

int frame_peek(const struct buf *b, size_t max, const uint8_t **payload, size_t *len,
	       struct error *err)
{
	const uint8_t *front = buf_bytes(b);

	if (b->len < FRAME_HEADER)
		return 0;
	size_t n = be32_get(front);
	if (n == 0)
		return error_set(
			err, ERR_INVALID,
			"a frame has the length 0: this is a bug of its sender, or an attack");
	if (n > max)
		return error_set(
			err, ERR_INVALID,
			"a frame has %zu bytes, and at most %zu are allowed: this is a bug of its sender, or an attack",
			n, max);
	if (b->len - FRAME_HEADER < n)
		return 0;
	*payload = front + FRAME_HEADER;
	*len = n;
	return 1;
}

int frame_append(struct buf *b, const void *payload, size_t len, struct error *err)
{
	uint8_t *room;

	if (len == 0 || len > FRAME_MAX)
		return error_set(
			err, ERR_INVALID,
			"a frame was to be sent with %zu bytes, and 1 to %u are allowed: this is a bug of microagent",
			len, FRAME_MAX);
	room = buf_reserve(b, FRAME_HEADER + len, err);
	if (!room)
		return -1;
	be32_put(room, (uint32_t)len);
	memcpy(room + FRAME_HEADER, payload, len);
	buf_commit(b, FRAME_HEADER + len);
	return 0;
}
