/* SPDX-License-Identifier: MIT */
/* What a hostile guest may send to the client of its agent, in pieces of every size. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "base/limits.h"
#include "channel/agent.h"

#define WINDOW 524288 /* LIMIT_STDIN_WINDOW_BYTES */

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

/* Its id is one that the guest can say. */
static int open_resumable(struct agent_stream *stream)
{
	static const char *const words[] = {"cat", NULL};
	const struct agent_exec exec = {.command = words, .stdin_open = true, .resume_seconds = 9};

	if (agent_stream_exec(stream, &exec, NULL) < 0)
		return -1;
	strcpy(stream->resumption.exec, "x");
	return 0;
}

/* As much as may be sent; nothing that the guest says lets the queue grow without end. */
static void write_stdin(struct agent_stream *stream)
{
	static const uint8_t bytes[65536];
	size_t room = agent_stream_stdin_room(stream);

	if (room > 0 && agent_stream_stdin(stream, bytes, room, NULL) < 0)
		abort();
	if (stream->out.len > 2 * 1024 * 1024 || stream->resumption.kept.len > WINDOW)
		abort();
	if (!stream->resumption.on && !stream->stdin_credit.none &&
	    stream->stdin_credit.sent - stream->stdin_credit.taken > WINDOW)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_stream stream;
	struct error err;
	size_t piece;

	if (size < 1)
		return 0;
	if ((data[0] & 1 ? open_resumable(&stream) : agent_stream_workload(&stream, &err)) < 0)
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
		write_stdin(&stream);
		if (size % 16 == 7 && agent_stream_can_resume(&stream) &&
		    agent_stream_resume(&stream, &err) < 0)
			abort();
	}
	agent_stream_free(&stream);
	return 0;
}
