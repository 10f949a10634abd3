/* SPDX-License-Identifier: MIT */
#include "channel/agent.h"

#include <string.h>

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
	resumption_free(&stream->resumption);
}

int agent_stream_exec(struct agent_stream *stream, const struct agent_exec *exec, struct error *err)
{
	struct agent_exec named = *exec;
	struct resumption *r = &stream->resumption;

	stream_init(stream);
	stream->timeout_seconds = exec->timeout_seconds;
	if (exec->resume_seconds == 0)
		return agent_message_exec(&stream->out, REQUEST, exec, err);
	if (resumption_begin(r, err) < 0)
		return -1;
	named.id = r->exec;
	if (agent_message_exec(&r->opening, REQUEST, &named, err) < 0)
		return -1;
	return buf_append(&stream->out, buf_bytes(&r->opening), r->opening.len, err);
}

bool agent_stream_can_resume(const struct agent_stream *stream)
{
	return stream->resumption.on && !stream->ended;
}

uint64_t agent_stream_stdin_taken(const struct agent_stream *stream)
{
	return stream->resumption.on ? stream->resumption.kept_from : 0;
}

int agent_stream_resume(struct agent_stream *stream, struct error *err)
{
	buf_consume(&stream->in, stream->in.len);
	buf_consume(&stream->out, stream->out.len);
	stream->taken = 0;
	return resumption_attach(&stream->resumption, REQUEST, &stream->out, err);
}

int agent_stream_release(struct agent_stream *stream, struct error *err)
{
	if (!stream->resumption.on)
		return 0;
	resumption_free(&stream->resumption);
	return agent_message_event(&stream->out, REQUEST, "release", err);
}

int agent_stream_workload(struct agent_stream *stream, struct error *err)
{
	json_auto_t *event = NULL;

	stream_init(stream);
	event = agent_message_new(REQUEST, "attach", err);
	if (!event || json_put_string(event, "exec", "workload", err) < 0 ||
	    json_put(event, "stdinWindow", json_true(), err) < 0)
		return -1;
	return agent_message_queue(&stream->out, event, err);
}

int agent_stream_stdin_close(struct agent_stream *stream, struct error *err)
{
	stream->resumption.stdin_closed = true;
	return agent_message_event(&stream->out, REQUEST, "stdin-close", err);
}

int agent_stream_cancel(struct agent_stream *stream, struct error *err)
{
	stream->resumption.cancelled = true;
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
	size_t queued = stream->out.len + AGENT_DATA_FRONT, room;

	if (queued >= STDIN_QUEUE)
		return 0;
	room = stream->resumption.on ? resumption_room(&stream->resumption)
				     : stdin_credit_room(&stream->stdin_credit);
	if (room > AGENT_STDIN_CHUNK)
		room = AGENT_STDIN_CHUNK;
	return STDIN_QUEUE - queued < room ? STDIN_QUEUE - queued : room;
}

int agent_stream_stdin(struct agent_stream *stream, const void *bytes, size_t len,
		       struct error *err)
{
	if (stream->resumption.on && buf_append(&stream->resumption.kept, bytes, len, err) < 0)
		return -1;
	if (agent_message_stdin(&stream->out, REQUEST, bytes, len, err) < 0)
		return -1;
	stream->stdin_credit.sent += len;
	return 0;
}

size_t agent_stream_room(const struct agent_stream *stream)
{
	return stream->in.limit - stream->in.len;
}

int agent_stream_feed(struct agent_stream *stream, const void *bytes, size_t len, struct error *err)
{
	return buf_append(&stream->in, bytes, len, err);
}

static int data_item(struct agent_stream *stream, const struct agent_message *message,
		     struct agent_item *item, struct error *err)
{
	if (message->request != REQUEST || !stream->started)
		return error_set(err, ERR_IO,
				 "the guest sent output of a request it was not asked");
	item->kind = message->kind == AGENT_MESSAGE_STDOUT ? AGENT_ITEM_STDOUT : AGENT_ITEM_STDERR;
	item->bytes = message->bytes;
	item->len = message->len;
	stream->last = item->kind;
	stream->last_len = item->len;
	return 1;
}

/* The caller is done with the last item. */
static int settle(struct agent_stream *stream, struct error *err)
{
	size_t len = stream->last_len;

	buf_consume(&stream->in, stream->taken);
	stream->taken = 0;
	stream->last_len = 0;
	if (len == 0 || !stream->resumption.on)
		return 0;
	return resumption_took(&stream->resumption,
			       stream->last == AGENT_ITEM_STDOUT ? RESUMPTION_STDOUT
								 : RESUMPTION_STDERR,
			       len, REQUEST, &stream->out, err);
}

/* An agent of another version may not know of resumption: then it is an exec like any other. */
static int resume_start(struct agent_stream *stream, const struct agent_message *message,
			struct error *err)
{
	struct resumption *r = &stream->resumption;

	if (!r->on)
		return 0;
	if (!message->exec[0] && !r->attaching) {
		resumption_free(r);
		return 0;
	}
	if (strcmp(message->exec, r->exec) != 0)
		return error_set(err, ERR_IO,
				 "bad message from the guest agent: the start of another exec");
	return resumption_start(r, REQUEST, message->stdin_offset, &stream->out, err);
}

static int start_item(struct agent_stream *stream, const struct agent_message *message,
		      struct agent_item *item, struct error *err)
{
	bool again = stream->started;

	if (again && !stream->resumption.attaching)
		return error_set(err, ERR_IO, "bad message from the guest agent: a second start");
	if (resume_start(stream, message, err) < 0)
		return -1;
	if (!stream->resumption.on && stdin_credit_take(&stream->stdin_credit, message, err) < 0)
		return -1;
	stream->started = true;
	item->kind = AGENT_ITEM_START;
	return again ? 0 : 1;
}

static int detached(struct agent_stream *stream, const struct agent_message *message,
		    struct error *err)
{
	struct resumption *r = &stream->resumption;

	if (r->on && r->attaching && !stream->started && message->why.code == ERR_NOT_FOUND)
		return resumption_ask_again(r, &stream->out, err);
	return error_set(err, ERR_IO, "the guest agent has let go of the command: %s",
			 message->why.msg);
}

/* 1: an item; 0: nothing for the caller; -1: an error. */
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
		return start_item(stream, message, item, err);
	case AGENT_MESSAGE_ACK:
		return stream->resumption.on
			       ? resumption_ack(&stream->resumption, message->stdin_offset, err)
			       : stdin_credit_take(&stream->stdin_credit, message, err);
	case AGENT_MESSAGE_DETACHED:
		return detached(stream, message, err);
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
		if (settle(stream, err) < 0)
			return -1;
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
