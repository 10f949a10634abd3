/* SPDX-License-Identifier: MIT */
#include "channel/agent.h"

#include "base/cleanup.h"
#include "base/frame.h"
#include "base/json.h"
#include "channel/agent_message.h"

/* One request a connection, so its number may as well be a constant. */
#define REQUEST 1

/* A queue of stdin that keeps the connection busy and no more. */
#define STDIN_QUEUE ((size_t)256 * 1024)

static void stream_init(struct agent_stream *stream)
{
	*stream = (struct agent_stream){
		.in = BUF_INIT(2 * (FRAME_HEADER + agent_message_limit())),
		.out = BUF_INIT(0),
	};
}

void agent_stream_free(struct agent_stream *stream)
{
	buf_free(&stream->in);
	buf_free(&stream->out);
}

int agent_stream_exec(struct agent_stream *stream, const struct agent_exec *exec, struct error *err)
{
	stream_init(stream);
	return agent_message_exec(&stream->out, REQUEST, exec, err);
}

int agent_stream_workload(struct agent_stream *stream, struct error *err)
{
	json_auto_t *event = NULL;

	stream_init(stream);
	event = agent_message_new(REQUEST, "attach", err);
	if (!event || json_put_string(event, "exec", "workload", err) < 0)
		return -1;
	return agent_message_queue(&stream->out, event, err);
}

int agent_stream_stdin_close(struct agent_stream *stream, struct error *err)
{
	return agent_message_event(&stream->out, REQUEST, "stdin-close", err);
}

int agent_stream_cancel(struct agent_stream *stream, struct error *err)
{
	return agent_message_event(&stream->out, REQUEST, "cancel", err);
}

int agent_stream_signal(struct agent_stream *stream, int signal, struct error *err)
{
	json_auto_t *event = agent_message_new(REQUEST, "signal", err);

	if (!event || json_put(event, "signal", json_integer(signal), err) < 0)
		return -1;
	return agent_message_queue(&stream->out, event, err);
}

int agent_stream_resize(struct agent_stream *stream, const struct agent_size *size,
			struct error *err)
{
	json_auto_t *event = agent_message_new(REQUEST, "resize", err);

	if (!event || agent_message_size(event, size, err) < 0)
		return -1;
	return agent_message_queue(&stream->out, event, err);
}

size_t agent_stream_stdin_room(const struct agent_stream *stream)
{
	size_t queued = stream->out.len + AGENT_DATA_FRONT;

	if (queued >= STDIN_QUEUE)
		return 0;
	return STDIN_QUEUE - queued < AGENT_STDIN_CHUNK ? STDIN_QUEUE - queued : AGENT_STDIN_CHUNK;
}

int agent_stream_stdin(struct agent_stream *stream, const void *bytes, size_t len,
		       struct error *err)
{
	return agent_message_stdin(&stream->out, REQUEST, bytes, len, err);
}

size_t agent_stream_room(const struct agent_stream *stream)
{
	return stream->in.limit - stream->in.len;
}

int agent_stream_feed(struct agent_stream *stream, const void *bytes, size_t len, struct error *err)
{
	return buf_append(&stream->in, bytes, len, err);
}

static int data_item(const struct agent_stream *stream, const struct agent_message *message,
		     struct agent_item *item, struct error *err)
{
	if (message->request != REQUEST || !stream->started)
		return error_set(err, ERR_IO,
				 "the guest sent output of a request it was not asked");
	item->kind = message->kind == AGENT_MESSAGE_STDOUT ? AGENT_ITEM_STDOUT : AGENT_ITEM_STDERR;
	item->bytes = message->bytes;
	item->len = message->len;
	return 1;
}

/* 1: an item; 0: an event that we do not know, passed over; -1: an error. */
static int event_item(struct agent_stream *stream, const struct agent_message *message,
		      struct agent_item *item, struct error *err)
{
	if (message->request && message->request != REQUEST)
		return error_set(err, ERR_IO,
				 "bad message from the guest agent: it is about request %llu, "
				 "which was not made",
				 (unsigned long long)message->request);
	switch (message->kind) {
	case AGENT_MESSAGE_START:
		if (stream->started)
			return error_set(err, ERR_IO,
					 "bad message from the guest agent: a second start");
		stream->started = true;
		item->kind = AGENT_ITEM_START;
		return 1;
	case AGENT_MESSAGE_EXIT:
		stream->ended = true;
		item->kind = AGENT_ITEM_EXIT;
		item->exit = message->exit;
		return 1;
	default:
		return 0;
	}
}

int agent_stream_next(struct agent_stream *stream, struct agent_item *item, struct error *err)
{
	struct agent_message message;
	int got;

	for (;;) {
		buf_consume(&stream->in, stream->taken);
		stream->taken = 0;
		if (stream->ended)
			return 0;
		got = agent_message_peek(&stream->in, &message, err);
		if (got <= 0)
			return got;
		stream->taken = message.taken;
		*item = (struct agent_item){0};
		if (message.kind == AGENT_MESSAGE_STDOUT || message.kind == AGENT_MESSAGE_STDERR)
			return data_item(stream, &message, item, err);
		got = event_item(stream, &message, item, err);
		if (got != 0)
			return got;
	}
}
