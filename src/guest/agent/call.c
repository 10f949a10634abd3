/* SPDX-License-Identifier: MIT */
#include "guest/agent/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/limits.h"
#include "guest/agent/call_impl.h"
#include "guest/agent/conn.h"
#include "guest/agent/pty_event.h"
#include "guest/agent/resumable.h"
#include "guest/agent/server.h"

#define SPACE_FIRST 4096
#define SPACE_MOST 65536
#define EXIT_OURS 125

/* What base64 of both streams and the rest of an answer leave of a frame. */
#define FRAME_OUTPUT_MAX ((size_t)(FRAME_MAX - 16384) / 4 * 3)

static uint8_t nowhere[SPACE_MOST];

static void call_free(struct call *call)
{
	for (int i = 0; i < JOB_STREAMS; i++)
		buf_free(&call->output.bytes[i]);
	buf_free(&call->stdin_bytes);
	stdin_window_drop(&call->input);
	free(call->id);
	free(call);
}

struct call *call_new(struct conn *conn, enum call_kind kind, const char *id, uint64_t number,
		      struct error *err)
{
	struct call *call = calloc(1, sizeof(*call));

	if (call) {
		*call = (struct call){.kind = kind, .number = number};
		call->id = strdup(id);
	}
	if (!call || !call->id) {
		free(call);
		error_errno(err, ENOMEM, "request");
		return NULL;
	}
	conn_add(conn, call);
	return call;
}

static char *answer_text(struct call *call, const struct job_end *end, struct error *err)
{
	switch (call->kind) {
	case CALL_ENVELOPE:
		return answer_envelope_exec(end, &call->output, err);
	case CALL_FILE:
		return call_file_answer(call, end, err);
	case CALL_PTY:
		return pty_event_end(end, err);
	case CALL_FRAME:
		return answer_frame_exec(call->id, end, &call->output, err);
	case CALL_STREAM:
	case CALL_RESUMABLE:
	case CALL_WORKLOAD:
		return answer_exit(call->number, call->id, end, err);
	}
	return NULL;
}

void call_exit(struct call *call, const struct job_end *end)
{
	struct conn *conn = call->conn;

	/* Who reads plain output alone must see why there is none. */
	if (end->start_error[0] && (call->kind == CALL_ENVELOPE || call->kind == CALL_FRAME))
		buf_printf(&call->output.bytes[JOB_STDERR], NULL, "microagent: %s\n",
			   end->start_error);
	conn_say(conn, answer_text(call, end, NULL));
	if (conn->dead)
		return; /* without memory the connection has ended, and all its calls */
	conn_remove(conn, call);
	call_free(call);
	conn->waiting = false; /* it may have been this one whose stdin was full */
	conn_go_on(conn);
}

/* A command that never was: told as one that could not be started. */
void call_unstarted(struct call *call, const char *why)
{
	struct job_end end = {.exit_code = EXIT_OURS};

	end.started_ns = end.ended_ns = clock_real_ns();
	snprintf(end.start_error, sizeof(end.start_error), "%.500s", why);
	call_exit(call, &end);
}

void call_abandon(struct call *call)
{
	if (call->kind == CALL_WORKLOAD)
		workload_detach(&call->conn->server->workload, call);
	else if (call->resumable)
		resumable_detach(call->resumable);
	else if (call->job && call->kind == CALL_PTY)
		job_hang_up(call->job);
	else if (call->job)
		job_abandon(call->job);
	call_free(call);
}

void call_forget(struct call *call)
{
	conn_remove(call->conn, call);
	call_free(call);
}

void call_drained(struct call *call)
{
	if (call->resumable)
		resumable_push(call->resumable);
	else if (call->job)
		job_resume(call->job);
}

bool call_is_open(const struct call *call)
{
	return !call->resumable || !resumable_is_told(call->resumable);
}

static void on_ended(void *data, const struct job_end *end)
{
	struct call *call = data;

	call->job = NULL;
	call_exit(call, end);
}

/* --- buffered -------------------------------------------------------------------------------- */

static size_t capture_room(const struct call *call, enum job_stream stream)
{
	const struct buf *bytes = call->output.bytes;
	size_t both = bytes[JOB_STDOUT].len + bytes[JOB_STDERR].len;
	size_t cap = (size_t)limit_get(LIMIT_EXEC_OUTPUT_BYTES);

	if (call->kind == CALL_FILE && stream == JOB_STDOUT)
		cap = call_file_room(call);
	cap = bytes[stream].len < cap ? cap - bytes[stream].len : 0;
	if (call->kind == CALL_FRAME && cap > FRAME_OUTPUT_MAX - both)
		cap = FRAME_OUTPUT_MAX - both;
	return cap;
}

/* Small at first: most commands say little, and there may be many of them. */
static uint8_t *capture_space(void *data, enum job_stream stream, size_t *room)
{
	struct call *call = data;
	struct buf *bytes = &call->output.bytes[stream];
	size_t most = capture_room(call, stream);
	size_t wanted = bytes->len < SPACE_FIRST ? SPACE_FIRST : bytes->len;
	uint8_t *space;

	if (wanted > SPACE_MOST)
		wanted = SPACE_MOST;
	*room = wanted < most ? wanted : most;
	space = most > 0 ? buf_reserve(bytes, *room, NULL) : NULL;
	call->dropping = !space;
	if (!space) {
		*room = sizeof(nowhere);
		return nowhere;
	}
	return space;
}

static void capture_output(void *data, enum job_stream stream, size_t len)
{
	struct call *call = data;

	if (call->dropping)
		call->output.truncated[stream] = true;
	else
		buf_commit(&call->output.bytes[stream], len);
}

static void feed_stdin(void *data)
{
	struct call *call = data;
	struct buf *bytes = &call->stdin_bytes;

	if (!call->job || !call->stdin_whole)
		return;
	if (bytes->len > 0)
		buf_consume(bytes, job_write_stdin(call->job, buf_bytes(bytes), bytes->len));
	if (bytes->len > 0)
		return;
	call->stdin_whole = false;
	job_close_stdin(call->job);
}

const struct job_owner call_capture_owner = {
	.space = capture_space,
	.output = capture_output,
	.stdin_room = feed_stdin,
	.ended = on_ended,
};

void call_feed(struct call *call, struct buf *bytes)
{
	call->stdin_bytes = *bytes;
	*bytes = (struct buf){0};
	call->stdin_whole = true;
	feed_stdin(call);
}

/* --- streaming ------------------------------------------------------------------------------- */

uint8_t *call_space(struct call *call, enum job_stream stream, size_t *room)
{
	struct framed *wire = &call->conn->wire;
	size_t most = (size_t)limit_get(LIMIT_STREAM_FRAME_BYTES);
	uint8_t *space;

	(void)stream;
	if (framed_is_full(wire))
		return NULL;
	space = buf_reserve(&wire->out, AGENT_DATA_FRONT + most, NULL);
	*room = most;
	return space ? space + AGENT_DATA_FRONT : NULL;
}

void call_frame_front(uint8_t *frame, enum job_stream stream, uint64_t number, size_t len)
{
	agent_data_front(frame, stream == JOB_STDOUT ? AGENT_FRAME_STDOUT : AGENT_FRAME_STDERR,
			 number, len);
}

void call_output(struct call *call, enum job_stream stream, size_t len)
{
	struct framed *wire = &call->conn->wire;
	size_t whole = AGENT_DATA_FRONT + len;
	uint8_t *frame = buf_reserve(&wire->out, whole, NULL); /* where call_space() pointed */

	call_frame_front(frame, stream, call->number, len);
	buf_commit(&wire->out, whole);
	framed_flush(wire);
}

void call_started(struct call *call, pid_t pid)
{
	call->input.told = call->input.taken;
	conn_say(call->conn, answer_start(call->number, call->id, pid, NULL, &call->input, NULL));
}

void call_say_taken(struct call *call, struct stdin_window *window)
{
	if (stdin_window_is_due(window))
		conn_say(call->conn, answer_ack(call->number, window->taken, NULL));
}

int call_take_stdin(struct call *call, const void *bytes, size_t len, struct error *err)
{
	if (stdin_window_put(&call->input, call->job, bytes, len, err) < 0)
		return -1;
	call_say_taken(call, &call->input);
	return 0;
}

void call_close_stdin(struct call *call)
{
	if (!call->input.on) {
		job_close_stdin(call->job);
		return;
	}
	stdin_window_close(&call->input, call->job);
	call_say_taken(call, &call->input);
}

void call_stdin_room(struct call *call)
{
	if (call->input.on) {
		stdin_window_feed(&call->input, call->job);
		call_say_taken(call, &call->input);
		return;
	}
	call->conn->waiting = false;
	conn_go_on(call->conn);
}

static void stream_started(void *data, pid_t pid)
{
	call_started(data, pid);
}

static uint8_t *stream_space(void *data, enum job_stream stream, size_t *room)
{
	return call_space(data, stream, room);
}

static void stream_output(void *data, enum job_stream stream, size_t len)
{
	call_output(data, stream, len);
}

static void stream_stdin_room(void *data)
{
	call_stdin_room(data);
}

static const struct job_owner stream_owner = {
	.started = stream_started,
	.space = stream_space,
	.output = stream_output,
	.stdin_room = stream_stdin_room,
	.ended = on_ended,
};

static int attach_workload(struct conn *conn, const struct request *request, struct error *err)
{
	struct call *call = call_new(conn, CALL_WORKLOAD, EXEC_WORKLOAD, request->number, err);

	if (!call)
		return -1;
	if (request->stdin_window)
		stdin_window_open(&call->input);
	if (workload_attach(&conn->server->workload, call, request, err) == 0)
		return 0;
	call_forget(call);
	return -1;
}

int call_attach(struct conn *conn, const struct request *request, struct error *err)
{
	struct error why = {0};
	struct call *call;

	if (strcmp(request->exec, EXEC_WORKLOAD) == 0)
		return attach_workload(conn, request, err);
	call = call_new(conn, CALL_RESUMABLE, request->exec, request->number, err);
	if (!call)
		return -1;
	if (resumable_attach(&conn->server->resumables, call, request, &why) < 0) {
		call_forget(call);
		conn_say(conn, answer_detached(request->number, &why, NULL));
	}
	return 0;
}

int call_hand_over(struct conn *conn, const struct request *request, struct error *err)
{
	int fd = conn->wire.fd;

	if (request->problem[0])
		return error_set(err, ERR_INVALID, "%s", request->problem);
	if (conn->ncalls > 0 || conn->wire.out.len > 0)
		return error_set(err, ERR_CONFLICT, "the connection has other requests");
	/* Two processes have the one socket for a moment, and its flags with it. */
	if (fd_nonblock(fd, false, err) < 0)
		return -1;
	if (exec_hand_over(&conn->server->context, request, fd, err) < 0) {
		fd_nonblock(fd, true, NULL);
		return -1;
	}
	conn_end(conn);
	return 0;
}

/* --- both ------------------------------------------------------------------------------------ */

static enum call_kind exec_kind(const struct conn *conn, const struct request *request)
{
	if (conn->form == FORM_ENVELOPE)
		return CALL_ENVELOPE;
	if (!request->stream)
		return CALL_FRAME;
	return request->grace_ms > 0 ? CALL_RESUMABLE : CALL_STREAM;
}

int call_exec(struct conn *conn, struct request *request, struct error *err)
{
	enum call_kind kind = exec_kind(conn, request);
	struct call *call =
		call_new(conn, kind, request->id ? request->id : "", request->number, err);
	struct error why = {0};

	if (!call)
		return -1;
	if (kind == CALL_RESUMABLE && !request->problem[0]) {
		if (resumable_start(&conn->server->resumables, call, request, &why) < 0)
			call_unstarted(call, why.msg);
		return 0;
	}
	if (kind == CALL_STREAM && request->stdin_window)
		stdin_window_open(&call->input);
	if (!request->problem[0])
		call->job = exec_start(&conn->server->context, request,
				       kind == CALL_STREAM ? &stream_owner : &call_capture_owner,
				       call, &why);
	if (!call->job) {
		call_unstarted(call, request->problem[0] ? request->problem : why.msg);
		return 0;
	}
	if (kind == CALL_STREAM && job_is_running(call->job))
		call_started(call, job_pid(call->job));
	if (kind != CALL_STREAM && request->stdin_open)
		call_feed(call, &request->stdin_bytes);
	return 0;
}
