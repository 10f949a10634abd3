/* SPDX-License-Identifier: MIT */
#include "channel/agent.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/words.h"

/* One request a connection, so its number may as well be a constant. */
#define REQUEST 1
#define REQUEST_ID "1"

enum frame_type { FRAME_STDIN = 1, FRAME_STDOUT = 2, FRAME_STDERR = 3 };
#define DATA_HEADER 9 /* type and request number */

/* A queue of stdin that keeps the connection busy and no more. */
#define STDIN_QUEUE ((size_t)256 * 1024)
#define STDIN_CHUNK ((size_t)65536)

static size_t frame_limit(void)
{
	return (size_t)limit_get(LIMIT_STREAM_FRAME_BYTES) + DATA_HEADER;
}

static void stream_init(struct agent_stream *stream)
{
	*stream = (struct agent_stream){
		.in = BUF_INIT(2 * (FRAME_HEADER + frame_limit())),
		.out = BUF_INIT(0),
	};
}

void agent_stream_free(struct agent_stream *stream)
{
	buf_free(&stream->in);
	buf_free(&stream->out);
}

static int queue_json(struct agent_stream *stream, const json_t *value, struct error *err)
{
	autofree char *text = json_line(value, err);

	if (!text)
		return -1;
	if (strlen(text) > limit_get(LIMIT_FRAME_BYTES))
		return error_set(err, ERR_INVALID, "the request is longer than %llu bytes",
				 (unsigned long long)limit_get(LIMIT_FRAME_BYTES));
	return frame_append(&stream->out, text, strlen(text), err);
}

static int put_optional(json_t *object, const char *key, const char *value, struct error *err)
{
	return value ? json_put_string(object, key, value, err) : 0;
}

static int put_size(json_t *object, const struct agent_size *size, struct error *err)
{
	if (json_put(object, "rows", json_integer(size->rows), err) < 0)
		return -1;
	return json_put(object, "cols", json_integer(size->columns), err);
}

/* What is run; put_exec_how() says in which surroundings. */
static int put_exec_what(json_t *request, const struct agent_exec *exec, struct error *err)
{
	json_t *words, *env;

	if (!exec->command || !exec->command[0])
		return error_set(err, ERR_INVALID, "no command given");
	words = words_json(exec->command, err);
	if (!words || json_put(request, "cmd", words, err) < 0)
		return -1;
	env = words_env_json(exec->env, err);
	return env ? json_put(request, "env", env, err) : -1;
}

static int put_exec_how(json_t *request, const struct agent_exec *exec, struct error *err)
{
	if (put_optional(request, "cwd", exec->cwd, err) < 0 ||
	    put_optional(request, "user", exec->user, err) < 0)
		return -1;
	if (exec->timeout_seconds > 0 &&
	    json_put(request, "timeoutSeconds", json_integer(exec->timeout_seconds), err) < 0)
		return -1;
	if (exec->terminal) {
		json_auto_t *pty = json_object();

		if (put_size(pty, exec->terminal, err) < 0 ||
		    json_put(request, "pty", steal_ptr(&pty), err) < 0)
			return -1;
	}
	return json_put(request, "stdin", json_boolean(exec->stdin_open), err);
}

int agent_stream_exec(struct agent_stream *stream, const struct agent_exec *exec, struct error *err)
{
	json_auto_t *request = json_object();

	stream_init(stream);
	if (json_put_string(request, "id", REQUEST_ID, err) < 0 ||
	    json_put(request, "request", json_integer(REQUEST), err) < 0 ||
	    json_put(request, "stream", json_true(), err) < 0 ||
	    put_exec_what(request, exec, err) < 0 || put_exec_how(request, exec, err) < 0)
		return -1;
	return queue_json(stream, request, err);
}

/* {"event":name,"request":1} to be completed. */
static json_t *event_new(const char *name, struct error *err)
{
	json_auto_t *event = json_object();

	if (json_put_string(event, "event", name, err) < 0 ||
	    json_put(event, "request", json_integer(REQUEST), err) < 0)
		return NULL;
	return steal_ptr(&event);
}

int agent_stream_workload(struct agent_stream *stream, struct error *err)
{
	json_auto_t *event = NULL;

	stream_init(stream);
	event = event_new("attach", err);
	if (!event || json_put_string(event, "exec", "workload", err) < 0)
		return -1;
	return queue_json(stream, event, err);
}

static int queue_event(struct agent_stream *stream, const char *name, struct error *err)
{
	json_auto_t *event = event_new(name, err);

	return event ? queue_json(stream, event, err) : -1;
}

int agent_stream_stdin_close(struct agent_stream *stream, struct error *err)
{
	return queue_event(stream, "stdin-close", err);
}

int agent_stream_cancel(struct agent_stream *stream, struct error *err)
{
	return queue_event(stream, "cancel", err);
}

int agent_stream_signal(struct agent_stream *stream, int signal, struct error *err)
{
	json_auto_t *event = event_new("signal", err);

	if (!event || json_put(event, "signal", json_integer(signal), err) < 0)
		return -1;
	return queue_json(stream, event, err);
}

int agent_stream_resize(struct agent_stream *stream, const struct agent_size *size,
			struct error *err)
{
	json_auto_t *event = event_new("resize", err);

	if (!event || put_size(event, size, err) < 0)
		return -1;
	return queue_json(stream, event, err);
}

size_t agent_stream_stdin_room(const struct agent_stream *stream)
{
	size_t queued = stream->out.len + FRAME_HEADER + DATA_HEADER;

	if (queued >= STDIN_QUEUE)
		return 0;
	return STDIN_QUEUE - queued < STDIN_CHUNK ? STDIN_QUEUE - queued : STDIN_CHUNK;
}

int agent_stream_stdin(struct agent_stream *stream, const void *bytes, size_t len,
		       struct error *err)
{
	uint8_t header[FRAME_HEADER + DATA_HEADER];

	if (len > STDIN_CHUNK)
		return error_set(err, ERR_INTERNAL, "more than one frame of stdin at once");
	be32_put(header, (uint32_t)(DATA_HEADER + len));
	header[FRAME_HEADER] = FRAME_STDIN;
	be64_put(header + FRAME_HEADER + 1, REQUEST);
	if (!buf_reserve(&stream->out, sizeof(header) + len, err))
		return -1;
	if (buf_append(&stream->out, header, sizeof(header), err) < 0)
		return -1;
	return buf_append(&stream->out, bytes, len, err);
}

size_t agent_stream_room(const struct agent_stream *stream)
{
	return stream->in.limit - stream->in.len;
}

int agent_stream_feed(struct agent_stream *stream, const void *bytes, size_t len, struct error *err)
{
	return buf_append(&stream->in, bytes, len, err);
}

static int data_item(struct agent_stream *stream, const uint8_t *payload, size_t len,
		     struct agent_item *item, struct error *err)
{
	if (len < DATA_HEADER || payload[0] == FRAME_STDIN)
		return error_set(err, ERR_IO, "the guest sent a data frame that is none");
	if (be64_get(payload + 1) != REQUEST || !stream->started)
		return error_set(err, ERR_IO,
				 "the guest sent output of a request it was not asked");
	item->kind = payload[0] == FRAME_STDOUT ? AGENT_ITEM_STDOUT : AGENT_ITEM_STDERR;
	item->bytes = payload + DATA_HEADER;
	item->len = len - DATA_HEADER;
	return 1;
}

static int exit_item(struct agent_stream *stream, const json_t *event, struct agent_item *item,
		     struct error *err)
{
	struct agent_exit ended = {0};
	int64_t code = 0, signal = 0;
	const char *start_error = NULL;

	if (json_get_int(event, "", "exitCode", JSON_REQUIRED, 0, 255, &code, err) < 0 ||
	    json_get_int(event, "", "signal", JSON_OPTIONAL, 0, 64, &signal, err) < 0 ||
	    json_get_int(event, "", "elapsedMs", JSON_OPTIONAL, 0, INT64_MAX, &ended.elapsed_ms,
			 err) < 0 ||
	    json_get_bool(event, "", "timedOut", JSON_OPTIONAL, &ended.timed_out, err) < 0 ||
	    json_get_bool(event, "", "killed", JSON_OPTIONAL, &ended.killed, err) < 0 ||
	    json_get_string(event, "", "startError", JSON_OPTIONAL, &start_error, err) < 0)
		return -1;
	ended.exit_code = (int)code;
	ended.signal = (int)signal;
	snprintf(ended.start_error, sizeof(ended.start_error), "%s",
		 start_error ? start_error : "");
	item->kind = AGENT_ITEM_EXIT;
	item->exit = ended;
	stream->ended = true;
	return 1;
}

/* 1: an item; 0: an event that we do not know, passed over; -1: an error. */
static int event_item(struct agent_stream *stream, const json_t *event, struct agent_item *item,
		      struct error *err)
{
	const char *name = NULL, *text = "no reason given";
	int64_t request = REQUEST;

	if (json_get_string(event, "", "event", JSON_REQUIRED, &name, err) < 0)
		return -1;
	if (strcmp(name, "error") == 0) {
		if (json_get_string(event, "", "error", JSON_OPTIONAL, &text, err) < 0)
			return -1;
		return error_set(err, ERR_IO, "the guest agent reports: %s", text);
	}
	if (json_get_int(event, "", "request", JSON_OPTIONAL, 1, INT64_MAX, &request, err) < 0)
		return -1;
	if (request != REQUEST)
		return error_set(err, ERR_IO, "it is about request %lld, which was not made",
				 (long long)request);
	if (strcmp(name, "start") == 0) {
		if (stream->started)
			return error_set(err, ERR_IO, "a second start");
		stream->started = true;
		item->kind = AGENT_ITEM_START;
		return 1;
	}
	return strcmp(name, "exit") == 0 ? exit_item(stream, event, item, err) : 0;
}

static int json_item(struct agent_stream *stream, const uint8_t *payload, size_t len,
		     struct agent_item *item, struct error *err)
{
	json_auto_t *event = json_load_strict(payload, len, err);
	int got = -1;

	if (event)
		got = event_item(stream, event, item, err);
	if (got < 0) {
		if (err)
			err->code = ERR_IO;
		error_prefix(err, "bad message from the guest agent");
	}
	return got;
}

int agent_stream_next(struct agent_stream *stream, struct agent_item *item, struct error *err)
{
	const uint8_t *payload;
	size_t len;
	int got;

	for (;;) {
		buf_consume(&stream->in, stream->taken);
		stream->taken = 0;
		if (stream->ended)
			return 0;
		got = frame_peek(&stream->in, frame_limit(), &payload, &len, err);
		if (got <= 0) {
			if (got < 0 && err)
				err->code = ERR_IO;
			return got < 0 ? error_prefix(err, "bad frame from the guest agent") : 0;
		}
		stream->taken = FRAME_HEADER + len;
		*item = (struct agent_item){0};
		if (payload[0] >= FRAME_STDIN && payload[0] <= FRAME_STDERR)
			return data_item(stream, payload, len, item, err);
		got = json_item(stream, payload, len, item, err);
		if (got != 0)
			return got;
	}
}
