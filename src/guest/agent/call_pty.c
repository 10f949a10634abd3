/* SPDX-License-Identifier: MIT */
/* A terminal of the envelope form's: its output as events, the client's events to it. */
#include "base/buf.h"
#include "guest/agent/call_impl.h"
#include "guest/agent/conn.h"
#include "guest/agent/pty_event.h"
#include "guest/agent/server.h"

#define CHUNK 32768

/* Filled and emptied within one turn of the loop, whichever terminal it is for. */
static uint8_t chunk[CHUNK];

static uint8_t *pty_space(void *data, enum job_stream stream, size_t *room)
{
	const struct call *call = data;

	(void)stream;
	if (framed_is_full(&call->conn->wire))
		return NULL;
	*room = sizeof(chunk);
	return chunk;
}

static void pty_output(void *data, enum job_stream stream, size_t len)
{
	const struct call *call = data;

	(void)stream;
	conn_say(call->conn, pty_event_stdout(chunk, len, NULL));
}

/* While the terminal takes no more, nothing more is read. */
static void feed(struct call *call)
{
	struct buf *bytes = &call->stdin_bytes;

	if (call->job && bytes->len > 0)
		buf_consume(bytes, job_write_stdin(call->job, buf_bytes(bytes), bytes->len));
	call->conn->waiting = bytes->len > 0;
	if (bytes->len == 0)
		buf_free(bytes);
}

static void pty_stdin_room(void *data)
{
	const struct call *call = data;

	feed(data);
	if (!call->conn->waiting)
		conn_go_on(call->conn);
}

static void pty_ended(void *data, const struct job_end *end)
{
	struct call *call = data;

	call->job = NULL;
	call_exit(call, end);
}

static const struct job_owner pty_owner = {
	.space = pty_space,
	.output = pty_output,
	.stdin_room = pty_stdin_room,
	.ended = pty_ended,
};

void call_pty_event(struct call *call, struct pty_event *event)
{
	if (event->kind == PTY_EVENT_STDIN) {
		call->stdin_bytes = event->data;
		event->data = (struct buf){0};
		feed(call);
	} else if (call->job && event->rows && event->columns) {
		job_resize(call->job, event->rows, event->columns);
	}
}

int call_pty(struct conn *conn, const struct request *request, struct error *err)
{
	struct call *call = call_new(conn, CALL_PTY, "", 0, err);
	struct error why = {0};

	if (!call)
		return -1;
	conn->streaming = true;
	if (!request->problem[0])
		call->job = exec_start(&conn->server->context, request, &pty_owner, call, &why);
	if (!call->job)
		call_unstarted(call, request->problem[0] ? request->problem : why.msg);
	return 0;
}
