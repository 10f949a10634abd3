/* SPDX-License-Identifier: MIT */
#include "channel/agent_message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/words.h"

size_t agent_message_limit(void)
{
	return (size_t)limit_get(LIMIT_STREAM_FRAME_BYTES) + AGENT_DATA_HEADER;
}

int agent_message_queue(struct buf *out, const json_t *value, struct error *err)
{
	autofree char *text = json_line(value, err);

	if (!text)
		return -1;
	if (strlen(text) > limit_get(LIMIT_FRAME_BYTES))
		return error_set(
			err, ERR_INVALID,
			"the request to the guest is longer than %llu bytes, the most that its agent takes: send less in one request",
			(unsigned long long)limit_get(LIMIT_FRAME_BYTES));
	return frame_append(out, text, strlen(text), err);
}

static int put_size(json_t *object, const struct microagent_terminal *terminal, struct error *err)
{
	uint16_t rows = 1, columns = 1;

	terminal->size(terminal->data, &rows, &columns);
	if (json_put(object, "rows", json_integer(rows), err) < 0)
		return -1;
	return json_put(object, "cols", json_integer(columns), err);
}

int agent_message_exec(struct buf *out, uint64_t request, const struct microagent_exec *exec,
		       enum agent_input input, const char *id, const json_t *contained,
		       struct error *err)
{
	json_auto_t *message = json_object();
	json_t *words, *env;
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)request);
	if (json_put_string(message, "id", number, err) < 0 ||
	    json_put(message, "request", json_integer((json_int_t)request), err) < 0 ||
	    json_put(message, "stream", json_true(), err) < 0)
		return -1;
	if (!exec->command || !exec->command[0])
		return error_set(err, ERR_INVALID, "no command given");
	words = words_json(exec->command, err);
	if (!words || json_put(message, "cmd", words, err) < 0)
		return -1;
	env = words_env_json(exec->env, err);
	if (!env || json_put(message, "env", env, err) < 0)
		return -1;
	if (json_put_optional(message, "cwd", exec->cwd, err) < 0 ||
	    json_put_optional(message, "user", exec->user, err) < 0)
		return -1;
	if (exec->timeout_seconds > 0 &&
	    json_put(message, "timeoutSeconds", json_integer(exec->timeout_seconds), err) < 0)
		return -1;
	if (id && (json_put_string(message, "exec", id, err) < 0 ||
		   json_put(message, "resume", json_integer(exec->resume_seconds), err) < 0))
		return -1;
	if (exec->rlimits && json_put(message, "rlimits", json_incref(exec->rlimits), err) < 0)
		return -1;
	if (exec->terminal) {
		json_auto_t *pty = json_object();

		if (put_size(pty, exec->terminal, err) < 0 ||
		    json_put(message, "pty", steal_ptr(&pty), err) < 0)
			return -1;
	}
	if (input == AGENT_INPUT_WHOLE) {
		if (json_put(message, "handOver", json_true(), err) < 0)
			return -1;
	} else if (json_put(message, "stdin", json_boolean(input == AGENT_INPUT_STDIN), err) < 0 ||
		   json_put(message, "stdinWindow", json_true(), err) < 0) {
		return -1;
	}
	if (contained && json_object_update(message, (json_t *)(uintptr_t)contained) < 0)
		return error_errno(err, ENOMEM, "container");
	return agent_message_queue(out, message, err);
}

json_t *agent_message_new(uint64_t request, const char *name, struct error *err)
{
	json_auto_t *event = json_object();

	if (json_put_string(event, "event", name, err) < 0 ||
	    json_put(event, "request", json_integer((json_int_t)request), err) < 0)
		return NULL;
	return steal_ptr(&event);
}

int agent_message_event(struct buf *out, uint64_t request, const char *name, struct error *err)
{
	json_auto_t *event = agent_message_new(request, name, err);

	return event ? agent_message_queue(out, event, err) : -1;
}

int agent_message_workload(struct buf *out, uint64_t request, struct error *err)
{
	json_auto_t *event = agent_message_new(request, "attach", err);

	if (!event || json_put_string(event, "exec", "workload", err) < 0 ||
	    json_put(event, "stdinWindow", json_true(), err) < 0)
		return -1;
	return agent_message_queue(out, event, err);
}

int agent_message_signal(struct buf *out, uint64_t request, int signal, struct error *err)
{
	json_auto_t *event = agent_message_new(request, "signal", err);

	if (!event || json_put(event, "signal", json_integer(signal), err) < 0)
		return -1;
	return agent_message_queue(out, event, err);
}

int agent_message_resize(struct buf *out, uint64_t request,
			 const struct microagent_terminal *terminal, struct error *err)
{
	json_auto_t *event = agent_message_new(request, "resize", err);

	if (!event || put_size(event, terminal, err) < 0)
		return -1;
	return agent_message_queue(out, event, err);
}

int agent_message_stdin(struct buf *out, uint64_t request, const void *bytes, size_t len,
			struct error *err)
{
	uint8_t header[AGENT_DATA_FRONT];

	if (len > AGENT_STDIN_CHUNK)
		return error_set(
			err, ERR_INTERNAL,
			"more stdin was to be sent at once than one frame can have: this is a bug of microagent");
	agent_data_front(header, AGENT_FRAME_STDIN, request, len);
	if (!buf_reserve(out, sizeof(header) + len, err))
		return -1;
	if (buf_append(out, header, sizeof(header), err) < 0)
		return -1;
	return buf_append(out, bytes, len, err);
}

static int read_exit(const json_t *event, struct agent_message *out, struct error *err)
{
	struct microagent_outcome ended = {.end = MICROAGENT_EXITED};
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
	ended.exit_code = ended.timed_out ? AGENT_TIMED_OUT : (int)code;
	ended.signal = (int)signal;
	snprintf(ended.start_error, sizeof(ended.start_error), "%s",
		 start_error ? start_error : "");
	out->exit = ended;
	return 0;
}

static int read_offset(const json_t *event, enum json_need need, struct agent_message *out,
		       struct error *err)
{
	int64_t offset = 0;

	if (json_get_int(event, "", "stdinOffset", need, 0, INT64_MAX, &offset, err) < 0)
		return -1;
	out->stdin_offset = (uint64_t)offset;
	out->tells_stdin = json_object_get(event, "stdinOffset");
	return 0;
}

static int read_start(const json_t *event, struct agent_message *out, struct error *err)
{
	const char *exec = "";

	if (json_get_string(event, "", "exec", JSON_OPTIONAL, &exec, err) < 0)
		return -1;
	if (strlen(exec) >= sizeof(out->exec))
		return error_set(
			err, ERR_IO,
			"the guest's answer names an exec by an id that is too long: this is a bug, or the guest attacks its host");
	snprintf(out->exec, sizeof(out->exec), "%s", exec);
	return read_offset(event, *exec ? JSON_REQUIRED : JSON_OPTIONAL, out, err);
}

static int read_detached(const json_t *event, struct agent_message *out, struct error *err)
{
	const char *code = "", *text = "no reason given";

	if (json_get_string(event, "", "errorCode", JSON_REQUIRED, &code, err) < 0 ||
	    json_get_string(event, "", "error", JSON_OPTIONAL, &text, err) < 0)
		return -1;
	error_set(&out->why, error_code_from_name(code), "%.300s", text);
	return 0;
}

static int read_ack(const json_t *event, struct agent_message *out, struct error *err)
{
	return read_offset(event, JSON_REQUIRED, out, err);
}

static int read_nothing(const json_t *event, struct agent_message *out, struct error *err)
{
	(void)event;
	(void)out;
	(void)err;
	return 0;
}

static const struct event_row {
	const char *name;
	enum agent_message_kind kind;
	int (*take)(const json_t *event, struct agent_message *out, struct error *err);
} events[] = {
	{"created", AGENT_MESSAGE_CREATED, read_nothing},
	{"start", AGENT_MESSAGE_START, read_start},
	{"exit", AGENT_MESSAGE_EXIT, read_exit},
	{"ack", AGENT_MESSAGE_ACK, read_ack},
	{"detached", AGENT_MESSAGE_DETACHED, read_detached},
};

static int read_agent_event(const json_t *event, struct agent_message *out, struct error *err)
{
	const char *name = NULL, *text = "no reason given";
	int64_t request = 0;

	if (json_get_string(event, "", "event", JSON_REQUIRED, &name, err) < 0)
		return -1;
	if (strcmp(name, "error") == 0) {
		if (json_get_string(event, "", "error", JSON_OPTIONAL, &text, err) < 0)
			return -1;
		return error_set(err, ERR_IO, "the guest agent reports: %s", text);
	}
	if (json_get_int(event, "", "request", JSON_OPTIONAL, 1, INT64_MAX, &request, err) < 0)
		return -1;
	out->request = (uint64_t)request;
	out->kind = AGENT_MESSAGE_OTHER;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (strcmp(name, events[i].name) != 0)
			continue;
		out->kind = events[i].kind;
		return events[i].take(event, out, err);
	}
	return 0;
}

int agent_message_peek(const struct buf *in, struct agent_message *out, struct error *err)
{
	json_auto_t *event = NULL;
	const uint8_t *payload;
	size_t len;
	int got = frame_peek(in, agent_message_limit(), &payload, &len, err);

	if (got < 0) {
		if (err)
			err->code = ERR_IO;
		return error_prefix(err, "the guest agent sent a malformed frame");
	}
	if (got == 0)
		return 0;
	*out = (struct agent_message){.taken = FRAME_HEADER + len};
	if (payload[0] >= AGENT_FRAME_STDIN && payload[0] <= AGENT_FRAME_STDERR) {
		if (len < AGENT_DATA_HEADER || payload[0] == AGENT_FRAME_STDIN)
			return error_set(
				err, ERR_IO,
				"the guest sent a malformed data frame: this is a bug, or the guest attacks its host");
		out->request = be64_get(payload + 1);
		out->kind = payload[0] == AGENT_FRAME_STDOUT ? AGENT_MESSAGE_STDOUT
							     : AGENT_MESSAGE_STDERR;
		out->bytes = payload + AGENT_DATA_HEADER;
		out->len = len - AGENT_DATA_HEADER;
		return 1;
	}
	event = json_load_strict(payload, len, err);
	if (event && read_agent_event(event, out, err) == 0)
		return 1;
	if (err)
		err->code = ERR_IO;
	return error_prefix(err, "the guest agent sent a malformed message");
}
