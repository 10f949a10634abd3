/* SPDX-License-Identifier: MIT */
#include "guest/agent/workload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "guest/agent/conn.h"

#define EXIT_OURS 125

static uint8_t nowhere[65536];

static void tell(struct workload *w)
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
	tell(w);
}

static void ended(struct workload *w, const struct job_end *end)
{
	uint64_t until = limit_deadline(LIMIT_ATTACH_CLOSE_MS);
	struct call *client = w->client;

	w->end = *end;
	w->job = NULL;
	w->client = NULL;
	if (!client) {
		tell(w);
		return;
	}
	w->state = WORKLOAD_HELD;
	w->hold = loop_add_timer(w->context->jobs.loop, until, on_held_long, w, NULL);
	client->job = NULL;
	call_exit(client, end);
	if (w->state == WORKLOAD_HELD && !w->hold)
		tell(w);
}

static void on_ended(void *data, const struct job_end *end)
{
	ended(data, end);
}

static void on_started(void *data, pid_t pid)
{
	struct workload *w = data;

	if (w->client)
		call_started(w->client, pid);
}

static uint8_t *on_space(void *data, enum job_stream stream, size_t *room)
{
	struct workload *w = data;

	if (w->client)
		return call_space(w->client, stream, room);
	*room = sizeof(nowhere);
	return nowhere;
}

/* The first bytes are kept, whoever reads. */
static void keep(struct workload *w, enum job_stream stream, const uint8_t *bytes, size_t len)
{
	struct buf *kept = &w->kept.bytes[stream];
	size_t room = w->keep - kept->len;

	if (len > room)
		w->kept.truncated[stream] = true;
	if (buf_append(kept, bytes, len < room ? len : room, NULL) < 0)
		w->kept.truncated[stream] = true;
}

static void on_output(void *data, enum job_stream stream, size_t len)
{
	struct workload *w = data;
	size_t room;

	if (!w->client) {
		keep(w, stream, nowhere, len);
		return;
	}
	keep(w, stream, call_space(w->client, stream, &room), len);
	call_output(w->client, stream, len);
}

static void on_stdin_room(void *data)
{
	struct workload *w = data;

	if (w->client)
		call_stdin_room(w->client);
}

static const struct job_owner workload_owner = {
	.started = on_started,
	.space = on_space,
	.output = on_output,
	.stdin_room = on_stdin_room,
	.ended = on_ended,
};

static void start(struct workload *w)
{
	struct job_end end = {.exit_code = EXIT_OURS};
	struct error why = {0};

	w->state = WORKLOAD_RUNNING;
	w->job = exec_start(w->context, &w->request, &workload_owner, w, &why);
	if (w->job)
		return;
	end.started_ns = end.ended_ns = clock_real_ns();
	snprintf(end.start_error, sizeof(end.start_error), "%.500s", why.msg);
	ended(w, &end);
}

void workload_begin(struct workload *w, struct request *request, bool attach, size_t keep_bytes)
{
	w->request = *request;
	*request = (struct request){0};
	w->keep = keep_bytes;
	w->request.stdin_open = attach;
	w->state = WORKLOAD_WAITING;
	if (!attach)
		start(w);
}

static int can_attach(const struct workload *w, struct error *err)
{
	if (w->state == WORKLOAD_NONE)
		return error_set(err, ERR_CONFLICT, "there is no workload");
	if (w->state == WORKLOAD_HELD || w->state == WORKLOAD_OVER)
		return error_set(err, ERR_CONFLICT, "the workload has ended");
	if (w->client)
		return error_set(err, ERR_CONFLICT, "the workload has a client already");
	return 0;
}

int workload_attach(struct workload *w, struct call *call, const struct request *request,
		    struct error *err)
{
	if (can_attach(w, err) < 0)
		return -1;
	w->client = call;
	call->conn->has_workload = true;
	if (w->state == WORKLOAD_WAITING) {
		w->request.terminal = request->terminal;
		w->request.rows = request->rows;
		w->request.columns = request->columns;
		start(w);
		if (!w->client)
			return 0; /* it was told that there was no start */
	}
	call->job = w->job;
	if (job_is_running(w->job))
		call_started(call, job_pid(w->job));
	return 0;
}

void workload_detach(struct workload *w, struct call *call)
{
	if (w->client != call)
		return;
	w->client = NULL;
	if (!w->job)
		return;
	if (!call->stdin_told_over && !call->input.over)
		job_close_stdin(w->job);
	job_resume(w->job);
}

void workload_client_closed(struct workload *w)
{
	if (w->state == WORKLOAD_HELD)
		tell(w);
}

void workload_release(struct workload *w)
{
	if (w->state == WORKLOAD_HELD)
		tell(w);
}

void workload_free(struct workload *w)
{
	loop_remove(steal_ptr(&w->hold));
	for (int i = 0; i < JOB_STREAMS; i++)
		buf_free(&w->kept.bytes[i]);
	request_free(&w->request);
}
