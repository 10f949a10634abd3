/* SPDX-License-Identifier: MIT */
#include "guest/agent/resumable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/limits.h"
#include "guest/agent/conn.h"
#include "guest/agent/stdin_window.h"

struct resumable {
	struct resumables *all;
	struct resumable *next, **link;
	char id[REQUEST_EXEC_MAX + 1];
	uint64_t grace_ms;
	struct loop_watch *grace; /* while detached */
	struct call *call;	  /* NULL: detached */
	struct job *job;	  /* NULL: it has ended */
	pid_t pid;		  /* 0: it has not begun to run, or never did */
	struct job_end end;

	struct ring ring[JOB_STREAMS];
	uint64_t sent[JOB_STREAMS]; /* on the present connection, in offsets */
	bool exit_said;		    /* on the present connection */

	struct stdin_window input;
};

static struct resumable *find(const struct resumables *all, const char *id)
{
	for (struct resumable *r = all->first; r; r = r->next)
		if (strcmp(r->id, id) == 0)
			return r;
	return NULL;
}

static void end_resumable(struct resumable *r)
{
	if (r->job)
		job_abandon(r->job);
	loop_remove(r->grace);
	for (int i = 0; i < JOB_STREAMS; i++)
		ring_free(&r->ring[i]);
	stdin_window_drop(&r->input);
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	r->all->count--;
	free(r);
}

void resumables_free(struct resumables *all)
{
	while (all->first)
		end_resumable(all->first);
}

void resumables_sweep(struct resumables *all)
{
	struct resumable *next;

	if (!all->doomed)
		return;
	all->doomed = false;
	for (struct resumable *r = all->first; r; r = next) {
		next = r->next;
		if (!r->call && !r->grace)
			end_resumable(r);
	}
}

/* --- to the client --------------------------------------------------------------------------- */

static void say_start(struct resumable *r)
{
	r->input.told = r->input.taken;
	conn_say(r->call->conn,
		 answer_start(r->call->number, r->call->id, r->pid, r->id, &r->input, NULL));
}

/* One frame of what was not sent yet; false: there is none, or the connection has no room. */
static bool send_frame(struct resumable *r, enum job_stream stream)
{
	struct conn *conn = r->call->conn;
	struct buf *out = &conn->wire.out;
	size_t most = (size_t)limit_get(LIMIT_STREAM_FRAME_BYTES), len;
	const uint8_t *bytes = ring_at(&r->ring[stream], r->sent[stream], &len);
	uint8_t *frame;

	if (len == 0 || framed_is_full(&conn->wire))
		return false;
	len = len < most ? len : most;
	frame = buf_reserve(out, AGENT_DATA_FRONT + len, NULL);
	if (!frame) {
		conn_end(conn);
		return false;
	}
	call_frame_front(frame, stream, r->call->number, len);
	memcpy(frame + AGENT_DATA_FRONT, bytes, len);
	buf_commit(out, AGENT_DATA_FRONT + len);
	r->sent[stream] += len;
	framed_flush(&conn->wire);
	return true;
}

static bool all_sent(const struct resumable *r)
{
	for (int i = 0; i < JOB_STREAMS; i++)
		if (r->sent[i] < r->ring[i].end)
			return false;
	return true;
}

void resumable_push(struct resumable *r)
{
	bool more = r->call;

	while (more) {
		more = send_frame(r, JOB_STDOUT);
		more = (r->call && send_frame(r, JOB_STDERR)) || more;
		more = more && r->call; /* without memory the connection has ended */
	}
	if (!r->call || r->job || r->exit_said || !all_sent(r))
		return;
	r->exit_said = true;
	conn_say(r->call->conn, answer_exit(r->call->number, r->call->id, &r->end, NULL));
}

bool resumable_is_told(const struct resumable *r)
{
	return r->exit_said;
}

/* --- to the command -------------------------------------------------------------------------- */

static void say_taken(struct resumable *r)
{
	if (r->call)
		call_say_taken(r->call, &r->input);
}

static void feed(struct resumable *r)
{
	stdin_window_feed(&r->input, r->job);
	say_taken(r);
}

int resumable_stdin(struct resumable *r, const void *bytes, size_t len, struct error *err)
{
	if (stdin_window_put(&r->input, r->job, bytes, len, err) < 0)
		return -1;
	say_taken(r);
	return 0;
}

/* A client that attached anew says it again, since it cannot know. */
void resumable_close_stdin(struct resumable *r)
{
	stdin_window_close(&r->input, r->job);
	say_taken(r);
}

/* --- from the command ------------------------------------------------------------------------ */

static void on_started(void *data, pid_t pid)
{
	struct resumable *r = data;

	r->pid = pid;
	if (r->call)
		say_start(r);
}

static uint8_t *on_space(void *data, enum job_stream stream, size_t *room)
{
	struct resumable *r = data;

	return ring_space(&r->ring[stream], room);
}

static void on_output(void *data, enum job_stream stream, size_t len)
{
	struct resumable *r = data;

	ring_commit(&r->ring[stream], len);
	resumable_push(r);
}

static void on_stdin_room(void *data)
{
	feed(data);
}

static void on_ended(void *data, const struct job_end *end)
{
	struct resumable *r = data;

	r->end = *end;
	r->job = NULL;
	if (r->call)
		r->call->job = NULL;
	feed(r); /* what it did not read is nobody's now */
	resumable_push(r);
	if (r->call)
		conn_go_on(r->call->conn);
}

static const struct job_owner resumable_owner = {
	.started = on_started,
	.space = on_space,
	.output = on_output,
	.stdin_room = on_stdin_room,
	.ended = on_ended,
};

/* --- its clients ----------------------------------------------------------------------------- */

static int make_id(char id[REQUEST_EXEC_MAX + 1], struct error *err)
{
	uint8_t bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_errno(err, errno, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(id + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static struct resumable *resumable_new(struct resumables *all, const struct request *request,
				       struct error *err)
{
	struct resumable *r = calloc(1, sizeof(*r));

	if (!r) {
		error_errno(err, ENOMEM, "exec");
		return NULL;
	}
	*r = (struct resumable){
		.all = all,
		.grace_ms = request->grace_ms,
		.ring = {{.pool = &all->pool}, {.pool = &all->pool}},
		.next = all->first,
		.link = &all->first,
	};
	stdin_window_open(&r->input);
	if (request->exec)
		snprintf(r->id, sizeof(r->id), "%s", request->exec);
	else if (make_id(r->id, err) < 0) {
		free(r);
		return NULL;
	}
	if (r->next)
		r->next->link = &r->next;
	all->first = r;
	all->count++;
	return r;
}

static int may_start(const struct resumables *all, const struct request *request, struct error *err)
{
	if (request->exec && find(all, request->exec))
		return error_set(err, ERR_CONFLICT, "exec \"%s\" exists already", request->exec);
	if (all->count >= limit_get(LIMIT_RESUMABLE_EXECS))
		return error_set(err, ERR_UNAVAILABLE, "there are %zu resumable execs already",
				 all->count);
	return 0;
}

int resumable_start(struct resumables *all, struct call *call, const struct request *request,
		    struct error *err)
{
	struct resumable *r;

	if (may_start(all, request, err) < 0)
		return -1;
	r = resumable_new(all, request, err);
	if (!r)
		return -1;
	r->job = exec_start(all->context, request, &resumable_owner, r, err);
	if (!r->job) {
		end_resumable(r);
		return -1;
	}
	r->call = call;
	call->resumable = r;
	call->job = r->job;
	if (job_is_running(r->job))
		on_started(r, job_pid(r->job));
	return 0;
}

static void on_grace_over(struct loop *loop, void *data)
{
	struct resumable *r = data;

	(void)loop;
	r->grace = NULL;
	end_resumable(r);
}

/* Stdin that the command has not taken is dropped: the client has it still and is told, when it
 * comes back, from where to send it again. */
void resumable_detach(struct resumable *r)
{
	uint64_t until = clock_mono_ns() + r->grace_ms * NS_PER_MS;

	r->call = NULL;
	stdin_window_drop(&r->input);
	r->grace = loop_add_timer(r->all->context->jobs.loop, until, on_grace_over, r, NULL);
	r->all->doomed |= !r->grace;
}

void resumable_release(struct resumable *r)
{
	struct call *call = r->call;

	end_resumable(r);
	call_forget(call);
}

static int check_offsets(const struct resumable *r, const struct request *request,
			 struct error *err)
{
	static const char *const names[JOB_STREAMS] = {"stdout", "stderr"};

	for (int i = 0; i < JOB_STREAMS; i++) {
		unsigned long long asked = request->offsets[i], start = r->ring[i].start;

		if (asked < start)
			return error_set(err, ERR_UNAVAILABLE,
					 "%s of exec \"%s\" is kept from offset %llu on: what is "
					 "before, from %llu, was acknowledged",
					 names[i], r->id, start, asked);
		if (asked > r->ring[i].end)
			return error_set(err, ERR_INVALID,
					 "exec \"%s\" has written %llu bytes to %s, not %llu",
					 r->id, (unsigned long long)r->ring[i].end, names[i],
					 asked);
	}
	return 0;
}

/* The newest client has it. */
static void displace(struct resumable *r)
{
	struct call *call = r->call;
	struct conn *conn = call->conn;
	uint64_t number = call->number;
	struct error why = {0};

	error_set(&why, ERR_CONFLICT, "another client has attached to exec \"%s\"", r->id);
	resumable_detach(r);
	call_forget(call);
	conn_say(conn, answer_detached(number, &why, NULL));
}

int resumable_attach(struct resumables *all, struct call *call, const struct request *request,
		     struct error *err)
{
	struct resumable *r = find(all, request->exec);
	struct conn *conn = call->conn;

	if (!r)
		return error_set(err, ERR_NOT_FOUND, "there is no exec \"%s\"", request->exec);
	if (check_offsets(r, request, err) < 0)
		return -1;
	if (r->call)
		displace(r);
	if (conn->dead)
		return 0; /* without memory it has ended, and the call */
	loop_remove(steal_ptr(&r->grace));
	r->call = call;
	r->exit_said = false;
	call->resumable = r;
	call->job = r->job;
	for (int i = 0; i < JOB_STREAMS; i++) {
		ring_forget(&r->ring[i], request->offsets[i]);
		r->sent[i] = request->offsets[i];
	}
	if (r->job && request->terminal)
		job_resize(r->job, request->rows, request->columns);
	if (r->job)
		job_resume(r->job);
	if (r->pid)
		say_start(r);
	resumable_push(r);
	return 0;
}

int resumable_ack(struct resumable *r, const uint64_t offsets[JOB_STREAMS], struct error *err)
{
	for (int i = 0; i < JOB_STREAMS; i++)
		if (offsets[i] > r->sent[i])
			return error_set(err, ERR_INVALID,
					 "output was acknowledged before it was sent");
	for (int i = 0; i < JOB_STREAMS; i++)
		ring_forget(&r->ring[i], offsets[i]);
	if (r->job)
		job_resume(r->job);
	return 0;
}
