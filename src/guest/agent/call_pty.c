/* SPDX-License-Identifier: MIT */
#include "guest/agent/call_pty.h"

#define CHUNK 32768

/* The buffer for the output of all terminals. The bytes of one terminal are sent before the output
 * of another terminal is read into the buffer. */
static uint8_t chunk[CHUNK];

struct terminal {
	struct call call;
	struct buf bytes; /* bytes that must still be written to the terminal */
};

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

/* Writes waiting bytes to the terminal. The connection handles no further message until all of them
 * are written. */
static void pty_feed(struct terminal *terminal)
{
	struct job *job = terminal->call.job;
	struct buf *bytes = &terminal->bytes;

	if (job && bytes->len > 0)
		buf_consume(bytes, job_write_stdin(job, buf_bytes(bytes), bytes->len));
	terminal->call.conn->waiting = bytes->len > 0;
	if (bytes->len == 0)
		buf_free(bytes);
}

static void pty_stdin_room(void *data)
{
	const struct call *call = data;

	pty_feed(data);
	if (!call->conn->waiting)
		conn_go_on(call->conn);
}

static const struct job_owner pty_owner = {
	.space = pty_space,
	.output = pty_output,
	.stdin_room = pty_stdin_room,
	.ended = call_job_ended,
};

static char *pty_answer(struct call *call, const struct job_end *end, struct error *err)
{
	(void)call;
	return pty_event_end(end, err);
}

static void pty_abandon(struct call *call)
{
	if (call->job)
		job_hang_up(call->job);
	call_free(call);
}

static void pty_drop(struct call *call)
{
	buf_free(&((struct terminal *)call)->bytes);
}

static const struct call_kind pty_kind = {
	.size = sizeof(struct terminal),
	.answer = pty_answer,
	.input_ended = call_input_ended,
	.drained = call_drained,
	.abandon = pty_abandon,
	.drop = pty_drop,
};

struct call *call_pty_open(const struct conn *conn)
{
	struct call *call = list_first(&conn->calls, struct call, link);

	return call && call->kind == &pty_kind ? call : NULL;
}

void call_pty_event(struct call *call, struct pty_event *event)
{
	struct terminal *terminal = (struct terminal *)call;

	if (event->kind == PTY_EVENT_STDIN) {
		terminal->bytes = event->data;
		event->data = (struct buf){0};
		pty_feed(terminal);
	} else if (call->job && event->rows && event->columns) {
		job_resize(call->job, event->rows, event->columns);
	}
}

int call_pty(struct conn *conn, struct request *request, struct error *err)
{
	struct call *call = call_new(conn, &pty_kind, "", 0, err);
	struct error why = {0};

	if (!call)
		return -1;
	conn->streaming = true;
	call->job = exec_start(conn->all->context, request, &pty_owner, call, &why);
	if (!call->job)
		call_unstarted(call, why.msg);
	return 0;
}
