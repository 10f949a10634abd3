/* SPDX-License-Identifier: MIT */
#include "guest/agent/conn.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/frame.h"
#include "base/limits.h"
#include "guest/agent/conn_impl.h"
#include "guest/agent/resumable.h"
#include "guest/agent/server.h"

void conn_add(struct conn *conn, struct call *call)
{
	call->conn = conn;
	call->next = conn->calls;
	call->link = &conn->calls;
	if (call->next)
		call->next->link = &call->next;
	conn->calls = call;
	conn->ncalls++;
}

void conn_remove(struct conn *conn, struct call *call)
{
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	conn->ncalls--;
}

static struct call *find_call(struct conn *conn, uint64_t number)
{
	for (struct call *call = conn->calls; call; call = call->next)
		if (call->number == number)
			return call;
	return NULL;
}

static void abandon_calls(struct conn *conn)
{
	while (conn->calls) {
		struct call *call = conn->calls;

		conn_remove(conn, call);
		call_abandon(call);
	}
}

void conn_end(struct conn *conn)
{
	if (conn->dead)
		return;
	conn->dead = true;
	loop_remove(steal_ptr(&conn->idle));
	framed_close(&conn->wire);
	abandon_calls(conn);
	*conn->link = conn->next;
	if (conn->next)
		conn->next->link = conn->link;
	conn->next = conn->server->dead;
	conn->server->dead = conn;
	conn->server->count--;
	if (conn->has_workload)
		workload_client_closed(&conn->server->workload);
}

void conn_free(struct conn *conn)
{
	free(conn);
}

void conn_say(struct conn *conn, char *text)
{
	int got = -1;

	if (!conn->dead && text)
		got = conn->form == FORM_ENVELOPE ? framed_send_line(&conn->wire, text, NULL)
						  : framed_send(&conn->wire, text, NULL);
	free(text);
	if (got < 0)
		conn_end(conn);
}

void conn_refuse(struct conn *conn, char *text)
{
	abandon_calls(conn);
	conn_say(conn, text);
	conn->closing = true;
}

void conn_asked(struct conn *conn)
{
	conn->asked = true;
	loop_remove(steal_ptr(&conn->idle));
}

/* --- frame form ------------------------------------------------------------------------------ */

static int begin_request(struct conn *conn, struct request *request, struct error *err)
{
	conn_asked(conn);
	if (request->number && find_call(conn, request->number))
		return error_set(err, ERR_CONFLICT, "request %llu is already running",
				 (unsigned long long)request->number);
	if (conn->ncalls >= limit_get(LIMIT_AGENT_REQUESTS))
		return error_set(err, ERR_INVALID, "more than %llu requests on one connection",
				 (unsigned long long)limit_get(LIMIT_AGENT_REQUESTS));
	if (request->kind == REQUEST_ATTACH || request->stream)
		conn->streaming = true;
	if (request->hand_over)
		return call_hand_over(conn, request, err);
	return request->kind == REQUEST_ATTACH ? call_attach(conn, request, err)
					       : call_exec(conn, request, err);
}

static void serve_job(struct call *call, const struct request *request)
{
	struct job *job = call->job;

	switch (request->kind) {
	case REQUEST_SIGNAL:
		job_signal(job, request->signal);
		break;
	case REQUEST_RESIZE:
		job_resize(job, request->rows, request->columns);
		break;
	case REQUEST_STDIN_CLOSE:
		call_close_stdin(call);
		break;
	case REQUEST_CANCEL:
		job_kill(job);
		break;
	default:
		break;
	}
}

/* An event about a request that is over crossed its exit on the way: no error. A resumable one is
 * over only when it was released. */
static int serve_event(struct conn *conn, const struct request *request, struct error *err)
{
	struct call *call = find_call(conn, request->number);
	struct resumable *resumable = call ? call->resumable : NULL;

	if (resumable && request->kind == REQUEST_ACK)
		return resumable_ack(resumable, request->offsets, err);
	if (resumable && request->kind == REQUEST_RELEASE)
		resumable_release(resumable);
	else if (resumable && request->kind == REQUEST_STDIN_CLOSE)
		resumable_close_stdin(resumable);
	else if (call && call->job)
		serve_job(call, request);
	return 0;
}

static int serve_message(struct conn *conn, const uint8_t *payload, size_t len, uint64_t *number,
			 struct error *err)
{
	struct request request = {0};
	int got = request_decode_frame(payload, len, &request, err);

	if (got < 0)
		return -1;
	*number = request.number;
	if (request.kind == REQUEST_EXEC || request.kind == REQUEST_ATTACH)
		got = begin_request(conn, &request, err);
	else
		got = serve_event(conn, &request, err);
	request_free(&request);
	return got;
}

/* Of a client without a window. Whether all of the frame has been taken. */
static bool take_stdin(struct conn *conn, struct call *call, const uint8_t *bytes, size_t len)
{
	size_t from = conn->stdin_taken;

	if (call && call->job)
		conn->stdin_taken += job_write_stdin(call->job, bytes + from, len - from);
	else
		conn->stdin_taken = len;
	conn->waiting = conn->stdin_taken < len;
	if (conn->waiting)
		return false;
	conn->stdin_taken = 0;
	return true;
}

/* 1: the frame is done with; 0: it waits; -1: a breach. */
static int serve_stdin(struct conn *conn, const uint8_t *payload, size_t len, struct error *err)
{
	struct call *call = find_call(conn, be64_get(payload + 1));
	const uint8_t *bytes = payload + AGENT_DATA_HEADER;
	int got;

	len -= AGENT_DATA_HEADER;
	if (call && call->resumable)
		got = resumable_stdin(call->resumable, bytes, len, err);
	else if (call && call->input.on)
		got = call_take_stdin(call, bytes, len, err);
	else
		return take_stdin(conn, call, bytes, len);
	return got < 0 ? -1 : 1;
}

/* The same. */
static int serve_frame(struct conn *conn, const uint8_t *payload, size_t len, uint64_t *number,
		       struct error *err)
{
	if (payload[0] == '{')
		return serve_message(conn, payload, len, number, err) < 0 ? -1 : 1;
	if (payload[0] == AGENT_FRAME_STDIN && len >= AGENT_DATA_HEADER)
		return serve_stdin(conn, payload, len, err);
	return error_set(err, ERR_INVALID, "a frame that is neither JSON nor stdin");
}

static bool step_frame(struct conn *conn)
{
	const uint8_t *payload;
	struct error err = {0};
	uint64_t number = 0;
	size_t len;
	int got;

	if (conn->waiting)
		return false;
	got = frame_peek(&conn->wire.in, (size_t)limit_get(LIMIT_FRAME_BYTES), &payload, &len,
			 &err);
	if (got == 0)
		return false;
	if (got > 0)
		got = serve_frame(conn, payload, len, &number, &err);
	if (got < 0) {
		conn_refuse(conn, answer_error(number, err.msg, NULL));
		return false;
	}
	if (got > 0 && !conn->dead)
		buf_consume(&conn->wire.in, FRAME_HEADER + len);
	return got > 0;
}

/* --- both ------------------------------------------------------------------------------------ */

static bool step(struct conn *conn)
{
	uint8_t first;

	switch (conn->form) {
	case FORM_ENVELOPE:
		return conn_step_envelope(conn);
	case FORM_FRAME:
		return step_frame(conn);
	case FORM_UNKNOWN:
		break;
	}
	if (conn->wire.in.len == 0)
		return false;
	/* As a length this byte would be above the longest frame: the forms never collide. */
	first = *buf_bytes(&conn->wire.in);
	conn->form = first == '{' || isspace(first) ? FORM_ENVELOPE : FORM_FRAME;
	return true;
}

/* The client sends no more: its commands read the end of what it sent, each once, or a terminal
 * would be typed at again and again. */
static void close_all_stdin(struct conn *conn)
{
	for (struct call *call = conn->calls; call; call = call->next) {
		if (!call->job || !call_is_live(call) || call->stdin_told_over)
			continue;
		call->stdin_told_over = true;
		call_close_stdin(call);
		if (conn->dead)
			return; /* without memory for its word it has ended, and its calls */
	}
}

/* Whether a client that sends no more has yet to be told something. */
static bool has_open_calls(const struct conn *conn)
{
	for (const struct call *call = conn->calls; call; call = call->next)
		if (call_is_open(call))
			return true;
	return false;
}

static void on_idle(struct loop *loop, void *data)
{
	struct conn *conn = data;

	(void)loop;
	conn->idle = NULL;
	conn_end(conn);
}

static int wait_for_request(struct conn *conn, struct error *err)
{
	uint64_t until = limit_deadline(LIMIT_AGENT_IDLE_MS);

	loop_remove(conn->idle);
	conn->idle = loop_add_timer(conn->server->loop, until, on_idle, conn, err);
	return conn->idle ? 0 : -1;
}

/* Nothing more can be done with what has arrived. Closes, or decides what to wait for. */
static void settle(struct conn *conn)
{
	struct framed *wire = &conn->wire;
	bool envelopes = conn->form == FORM_ENVELOPE;
	bool answered = conn->asked && !conn->streaming && wire->in.len == 0 && !envelopes;

	if (wire->ended && !conn->waiting)
		close_all_stdin(conn);
	if (conn->dead)
		return;
	if (wire->ended ? !has_open_calls(conn) : answered && conn->ncalls == 0)
		conn->closing = true;
	if (conn->closing && wire->out.len == 0) {
		conn_end(conn);
		return;
	}
	/* After an answer there may be another envelope. */
	if (envelopes && !conn->closing && conn->ncalls == 0 && wire->out.len == 0 && !conn->idle &&
	    wait_for_request(conn, NULL) < 0) {
		conn_end(conn);
		return;
	}
	framed_set_reading(wire, !conn->closing && !conn->waiting &&
					 (!envelopes || conn_takes_envelopes(conn)));
}

void conn_go_on(struct conn *conn)
{
	if (conn->busy || conn->dead)
		return;
	conn->busy = true;
	while (!conn->dead && !conn->closing && step(conn))
		;
	conn->busy = false;
	if (!conn->dead)
		settle(conn);
}

static void on_input(void *data)
{
	struct conn *conn = data;

	conn_go_on(conn);
	/* A long first request is not idle while it arrives. */
	if (!conn->dead && conn->idle && wait_for_request(conn, NULL) < 0)
		conn_end(conn);
}

static void on_drained(void *data)
{
	struct conn *conn = data;

	for (struct call *call = conn->calls, *next; call && !conn->dead; call = next) {
		next = call->next;
		call_drained(call);
	}
	if (!conn->dead)
		settle(conn);
}

static void on_lost(void *data, const char *why)
{
	(void)why;
	conn_end(data);
}

static const struct framed_owner conn_owner = {
	.input = on_input,
	.drained = on_drained,
	.lost = on_lost,
};

struct conn *conn_new(struct server *server, int fd, struct error *err)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		error_errno(err, ENOMEM, "connection");
		return NULL;
	}
	conn->server = server;
	if (wait_for_request(conn, err) < 0 ||
	    framed_open(&conn->wire, server->loop, fd, (size_t)limit_get(LIMIT_ENVELOPE_BYTES),
			&conn_owner, conn, err) < 0) {
		loop_remove(conn->idle);
		free(conn);
		return NULL;
	}
	conn->next = server->live;
	conn->link = &server->live;
	if (conn->next)
		conn->next->link = &conn->next;
	server->live = conn;
	server->count++;
	return conn;
}
