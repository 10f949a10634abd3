/* SPDX-License-Identifier: MIT */
#include "guest/agent/call_stream.h"

#include "base/agent_wire.h"
#include "base/limits.h"

uint8_t *call_stream_reserve(struct call *call, size_t len)
{
	uint8_t *space = buf_reserve(&call->conn->wire.out, AGENT_DATA_FRONT + len, NULL);

	return space ? space + AGENT_DATA_FRONT : NULL;
}

void call_stream_commit(struct call *call, enum job_stream stream, size_t len)
{
	struct framed *wire = &call->conn->wire;
	size_t whole = AGENT_DATA_FRONT + len;
	/* The output is in the queue already. The frame's header is written into the memory that
	 * was reserved before the output. */
	uint8_t *frame = buf_reserve(&wire->out, whole, NULL);

	agent_data_front(frame, stream == JOB_STDOUT ? AGENT_FRAME_STDOUT : AGENT_FRAME_STDERR,
			 call->number, len);
	buf_commit(&wire->out, whole);
	framed_flush(wire);
}

static void stream_held(void *data)
{
	struct call *call = data;

	conn_say(call->conn, answer_created(call->number, NULL));
}

static void stream_started(void *data, pid_t pid)
{
	call_say_start(data, pid, NULL);
}

static uint8_t *stream_space(void *data, enum job_stream stream, size_t *room)
{
	struct call *call = data;

	(void)stream;
	if (framed_is_full(&call->conn->wire))
		return NULL;
	*room = (size_t)limit_get(LIMIT_STREAM_FRAME_BYTES);
	return call_stream_reserve(call, *room);
}

static void stream_output(void *data, enum job_stream stream, size_t len)
{
	call_stream_commit(data, stream, len);
}

static void stream_stdin_room(void *data)
{
	struct call *call = data;

	if (call->window) {
		stdin_window_feed(call->window, call->job);
		call_say_taken(call);
		return;
	}
	call->conn->waiting = false;
	conn_go_on(call->conn);
}

const struct job_owner call_stream_owner = {
	.held = stream_held,
	.started = stream_started,
	.space = stream_space,
	.output = stream_output,
	.stdin_room = stream_stdin_room,
	.ended = call_job_ended,
};

static const struct call_kind stream_kind = {
	.size = sizeof(struct call),
	.answer = call_answer_exit,
	.event = call_event,
	.input_ended = call_input_ended,
	.drained = call_drained,
	.abandon = call_abandon,
};

int call_stream(struct conn *conn, struct request *request, struct error *err)
{
	struct call *call =
		call_new(conn, &stream_kind, request->id ? request->id : "", request->number, err);
	struct error why = {0};

	if (!call)
		return -1;
	if (request->stdin_window)
		call_open_window(call);
	call->job = exec_start(conn->all->context, request, &call_stream_owner, call, &why);
	if (!call->job)
		call_unstarted(call, why.msg);
	else if (job_is_running(call->job))
		call_say_start(call, job_pid(call->job), NULL);
	return 0;
}
