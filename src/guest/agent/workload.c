/* SPDX-License-Identifier: MIT */
#include "guest/agent/workload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "guest/agent/call_stream.h"

static uint8_t nowhere[65536];

static void tell_result(struct workload *w)
{
	loop_remove(steal_ptr(&w->hold));
	w->state = WORKLOAD_OVER;
	w->result(w->data, answer_result(&w->end, &w->kept, NULL));
	for (int i = 0; i < JOB_STREAMS; i++)
		buf_free(&w->kept.bytes[i]);
}

static void on_held_long(struct loop *loop, void *data)
{
	struct workload *w = data;

	(void)loop;
	w->hold = NULL;
	tell_result(w);
}

static void on_workload_ended(void *data, const struct job_end *end)
{
	struct workload *w = data;
	uint64_t until = limit_deadline(LIMIT_ATTACH_CLOSE_MS);
	struct call *client = w->client;

	w->end = *end;
	w->job = NULL;
	w->client = NULL;
	if (!client) {
		tell_result(w);
		return;
	}
	w->state = WORKLOAD_HELD;
	w->hold = loop_add_timer(w->context->jobs.loop, until, on_held_long, w, NULL);
	call_stream_owner.ended(client, end);
	if (w->state == WORKLOAD_HELD && !w->hold)
		tell_result(w);
}

static void on_workload_started(void *data, pid_t pid)
{
	struct workload *w = data;

	if (w->client)
		call_stream_owner.started(w->client, pid);
}

static uint8_t *on_workload_space(void *data, enum job_stream stream, size_t *room)
{
	struct workload *w = data;

	if (w->client)
		return call_stream_owner.space(w->client, stream, room);
	*room = sizeof(nowhere);
	return nowhere;
}

/* Keeps the first bytes of the output for the result. Does so whether or not a client gets the
 * output. */
static void on_workload_output(void *data, enum job_stream stream, size_t len)
{
	struct workload *w = data;
	const uint8_t *bytes = w->client ? call_stream_reserve(w->client, len) : nowhere;
	struct buf *kept = &w->kept.bytes[stream];
	size_t room = w->keep - kept->len;

	if (len > room)
		w->kept.truncated[stream] = true;
	if (buf_append(kept, bytes, len < room ? len : room, NULL) < 0)
		w->kept.truncated[stream] = true;
	if (w->client)
		call_stream_owner.output(w->client, stream, len);
}

static void on_workload_stdin_room(void *data)
{
	struct workload *w = data;

	if (w->client)
		call_stream_owner.stdin_room(w->client);
}

static const struct job_owner workload_owner = {
	.started = on_workload_started,
	.space = on_workload_space,
	.output = on_workload_output,
	.stdin_room = on_workload_stdin_room,
	.ended = on_workload_ended,
};

static void workload_start(struct workload *w)
{
	struct error why = {0};
	struct job_end end;

	w->state = WORKLOAD_RUNNING;
	w->job = exec_start(w->context, &w->request, &workload_owner, w, &why);
	if (w->job)
		return;
	end = job_end_unstarted(why.msg);
	on_workload_ended(w, &end);
}

void workload_begin(struct workload *w, struct request *request, bool attach, size_t keep_bytes)
{
	request_free(&w->request); /* frees the request of an earlier config */
	w->kept = (struct captured){0};
	w->request = *request;
	*request = (struct request){0};
	w->keep = keep_bytes;
	w->request.stdin_open = attach;
	w->state = WORKLOAD_WAITING;
	if (!attach)
		workload_start(w);
}

/* --- its client ------------------------------------------------------------------------------ */

/* Called when the client has gone before it got the exit code. The command continues. */
static void client_gone(struct call *call)
{
	struct workload *w = call->conn->all->workload;

	if (w->client == call) {
		w->client = NULL;
		if (w->job && !call->stdin_told_over && !call->own.over)
			job_close_stdin(w->job);
		if (w->job)
			job_resume(w->job);
	}
	call_free(call);
}

/* Called when the client's connection has closed. The client may or may not have got the exit
 * code. */
static void on_client_closed(void *data)
{
	workload_release(data);
}

static const struct call_kind client_kind = {
	.size = sizeof(struct call),
	.answer = call_answer_exit,
	.event = call_event,
	.input_ended = call_input_ended,
	.drained = call_drained,
	.abandon = client_gone,
};

static int can_attach(const struct workload *w, struct error *err)
{
	if (w->state == WORKLOAD_NONE)
		return error_set(
			err, ERR_CONFLICT,
			"this machine's config has no command, so no client can attach to one: run a command in the guest instead");
	if (w->state == WORKLOAD_HELD || w->state == WORKLOAD_OVER)
		return error_set(
			err, ERR_CONFLICT,
			"the command that this machine's config starts has ended, so no client can attach to it: boot the machine again, or run another command in the guest");
	if (w->client)
		return error_set(
			err, ERR_CONFLICT,
			"another client is already attached to the command that this machine's config starts: detach that client first");
	return 0;
}

int workload_attach(struct workload *w, struct conn *conn, const struct request *request,
		    struct error *err)
{
	struct call *call;

	if (can_attach(w, err) < 0)
		return -1;
	call = call_new(conn, &client_kind, EXEC_WORKLOAD, request->number, err);
	if (!call)
		return -1;
	if (request->stdin_window)
		call_open_window(call);
	w->client = call;
	conn->closed = on_client_closed;
	conn->closed_data = w;
	if (w->state == WORKLOAD_WAITING) {
		w->request.terminal = request->terminal;
		w->request.rows = request->rows;
		w->request.columns = request->columns;
		workload_start(w);
		if (!w->client)
			return 0; /* the client has already got the message that the start failed */
	}
	call->job = w->job;
	if (job_is_running(w->job))
		call_say_start(call, job_pid(w->job), NULL);
	return 0;
}

void workload_release(struct workload *w)
{
	if (w->state == WORKLOAD_HELD)
		tell_result(w);
}

void workload_free(struct workload *w)
{
	loop_remove(steal_ptr(&w->hold));
	for (int i = 0; i < JOB_STREAMS; i++)
		buf_free(&w->kept.bytes[i]);
	request_free(&w->request);
}
