/* SPDX-License-Identifier: MIT */
/* What a hostile guest may send to the client of its agent, in pieces of every size. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/frame.h"
#include "base/limits.h"
#include "channel/agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Looks at every byte of an item, so that a wrong length is a fault and not luck. */
static void use(const struct agent_item *item)
{
	static volatile uint8_t sink;

	for (size_t i = 0; i < item->len; i++)
		sink ^= item->bytes[i];
	if (item->kind == AGENT_ITEM_EXIT) {
		if (item->exit.exit_code < 0 || item->exit.exit_code > 255 ||
		    item->exit.signal < 0 || item->exit.signal > 64)
			abort();
	}
}

/* -1 when the stream is broken and the connection would be closed. */
static int take_all(struct agent_stream *stream)
{
	struct agent_item item;
	struct error err;
	int got;

	while ((got = agent_stream_next(stream, &item, &err)) == 1)
		use(&item);
	if (agent_stream_room(stream) > stream->in.limit)
		abort();
	return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_stream stream;
	struct error err;
	size_t piece;

	if (size < 1)
		return 0;
	if (agent_stream_workload(&stream, &err) < 0)
		abort();
	piece = (size_t)data[0] + 1;
	data++;
	size--;
	while (size > 0) {
		size_t room = agent_stream_room(&stream);
		size_t n = piece < size ? piece : size;

		n = n < room ? n : room;
		if (n == 0 && !stream.ended)
			abort(); /* full, and yet no item and no error: it would hang */
		if (n == 0 || agent_stream_feed(&stream, data, n, &err) < 0)
			break;
		data += n;
		size -= n;
		if (take_all(&stream) < 0)
			break;
	}
	agent_stream_free(&stream);
	return 0;
}
