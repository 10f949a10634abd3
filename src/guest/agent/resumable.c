/* SPDX-License-Identifier: MIT */
#include "guest/agent/resumable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "guest/agent/call_stream.h"

struct resumable {
	struct resumables *all;
	struct list_link link;
	char id[REQUEST_EXEC_MAX + 1];
	uint64_t grace_ms;
	/* The timer of the grace time. The timer runs while no client is attached. */
	struct loop_watch *grace;
	struct call *call; /* the client's call; NULL: no client is attached */
	struct job *job;   /* the command's job; NULL: the command has ended */
	/* The command's process id. 0: the command has not begun to run, or never ran. */
	pid_t pid;
	struct job_end end;

	struct ring ring[JOB_STREAMS];
	/* For each stream, the offset of the next byte that the client must get. */
	uint64_t sent[JOB_STREAMS];

	struct stdin_window input;
};

/* A call on a connection whose client gets the output of the exec. */
struct resumable_call {
	struct call call;
	/* The exec of this call. NULL: the exec could not be started. */
	struct resumable *resumable;
};

static struct resumable *find_resumable(const struct resumables *all, const char *id)
{
	struct resumable *r;

	list_each (r, &all->list, link)
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
	list_remove(&r->link);
	r->all->count--;
	free(r);
}

void resumables_init(struct resumables *all, struct exec_context *context)
{
	*all = (struct resumables){.context = context};
	list_init(&all->list);
}

void resumables_free(struct resumables *all)
{
	struct resumable *r;

	while ((r = list_first(&all->list, struct resumable, link)))
		end_resumable(r);
}

void resumables_sweep(struct resumables *all)
{
	struct resumable *r;

	if (!all->doomed)
		return;
	all->doomed = false;
	list_each (r, &all->list, link)
		if (!r->call && !r->grace)
			end_resumable(r);
}

/* --- to the client --------------------------------------------------------------------------- */

/* Sends one frame of output that the client has not got yet. Returns false if there is no such
 * output, or if the connection has no room. */
static bool send_frame(struct resumable *r, enum job_stream stream)
{
	struct conn *conn = r->call->conn;
	size_t most = (size_t)limit_get(LIMIT_STREAM_FRAME_BYTES), len;
	const uint8_t *bytes = ring_at(&r->ring[stream], r->sent[stream], &len);
	uint8_t *space;

	if (len == 0 || framed_is_full(&conn->wire))
		return false;
	len = len < most ? len : most;
	space = call_stream_reserve(r->call, len);
	if (!space) {
		conn_end(conn);
		return false;
	}
	memcpy(space, bytes, len);
	call_stream_commit(r->call, stream, len);
	r->sent[stream] += len;
	return true;
}

static bool all_sent(const struct resumable *r)
{
	for (int i = 0; i < JOB_STREAMS; i++)
		if (r->sent[i] < r->ring[i].end)
			return false;
	return true;
}

static void resumable_push(struct resumable *r)
{
	bool more = r->call;

	while (more) {
		more = send_frame(r, JOB_STDOUT);
		more = (r->call && send_frame(r, JOB_STDERR)) || more;
		more = more && r->call; /* there was no memory, so the connection has ended */
	}
	if (!r->call || r->job || r->call->told || !all_sent(r))
		return;
	r->call->told = true;
	conn_say(r->call->conn, call_answer_exit(r->call, &r->end, NULL));
}

/* --- from the command ------------------------------------------------------------------------ */

static void on_resumable_started(void *data, pid_t pid)
{
	struct resumable *r = data;

	r->pid = pid;
	if (r->call)
		call_say_start(r->call, pid, r->id);
}

static uint8_t *on_resumable_space(void *data, enum job_stream stream, size_t *room)
{
	struct resumable *r = data;

	return ring_space(&r->ring[stream], room);
}

static void on_resumable_output(void *data, enum job_stream stream, size_t len)
{
	struct resumable *r = data;

	ring_commit(&r->ring[stream], len);
	resumable_push(r);
}

static void on_resumable_stdin_room(void *data)
{
	struct resumable *r = data;

	stdin_window_feed(&r->input, r->job);
	if (r->call)
		call_say_taken(r->call);
}

static void on_resumable_ended(void *data, const struct job_end *end)
{
	struct resumable *r = data;

	r->end = *end;
	r->job = NULL;
	if (r->call)
		r->call->job = NULL;
	/* Drops the stdin that the command did not read before it exited. */
	on_resumable_stdin_room(r);
	resumable_push(r);
	if (r->call)
		conn_go_on(r->call->conn);
}

static const struct job_owner resumable_owner = {
	.started = on_resumable_started,
	.space = on_resumable_space,
	.output = on_resumable_output,
	.stdin_room = on_resumable_stdin_room,
	.ended = on_resumable_ended,
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
	};
	stdin_window_open(&r->input);
	if (request->exec)
		snprintf(r->id, sizeof(r->id), "%s", request->exec);
	else if (make_id(r->id, err) < 0) {
		free(r);
		return NULL;
	}
	list_add_first(&all->list, &r->link);
	all->count++;
	return r;
}

static int may_start(const struct resumables *all, const struct request *request, struct error *err)
{
	if (request->problem[0])
		return error_set(err, ERR_INVALID, "%s", request->problem);
	if (request->exec && find_resumable(all, request->exec))
		return error_set(err, ERR_CONFLICT,
				 "there is an exec \"%s\" already: choose another id",
				 request->exec);
	if (all->count >= limit_get(LIMIT_RESUMABLE_EXECS))
		return error_set(
			err, ERR_UNAVAILABLE,
			"the guest already keeps %zu commands that can be resumed, which is the limit: release some of them first",
			all->count);
	return 0;
}

static void on_client_late(struct loop *loop, void *data)
{
	struct resumable *r = data;

	(void)loop;
	r->grace = NULL;
	end_resumable(r);
}

/* Detaches the client. Drops the stdin that the command has not read. The client keeps a copy of
 * these bytes. When the client attaches again, it is told from which offset it must send them
 * again. */
static void resumable_detach(struct resumable *r)
{
	uint64_t until = clock_mono_ns() + r->grace_ms * NS_PER_MS;

	r->call = NULL;
	stdin_window_drop(&r->input);
	r->grace = loop_add_timer(r->all->context->jobs.loop, until, on_client_late, r, NULL);
	r->all->doomed |= !r->grace;
}

static int check_offsets(const struct resumable *r, const struct request *request,
			 struct error *err)
{
	static const char *const names[JOB_STREAMS] = {"stdout", "stderr"};

	for (int i = 0; i < JOB_STREAMS; i++) {
		unsigned long long asked = request->offsets[i], start = r->ring[i].start;

		if (asked < start)
			return error_set(
				err, ERR_UNAVAILABLE,
				"%s of exec \"%s\" is kept only from byte %llu on, because its reader acknowledged the bytes before: ask for these bytes, not for those from %llu on",
				names[i], r->id, start, asked);
		if (asked > r->ring[i].end)
			return error_set(
				err, ERR_INVALID,
				"exec \"%s\" has written only %llu bytes to %s, so nothing can be sent from byte %llu on: ask for an earlier byte",
				r->id, (unsigned long long)r->ring[i].end, names[i], asked);
	}
	return 0;
}

/* Detaches the client that is attached to the exec, because another client has attached. */
static void displace(struct resumable *r)
{
	struct call *call = r->call;
	struct conn *conn = call->conn;
	uint64_t number = call->number;
	struct error why = {0};

	error_set(
		&why, ERR_CONFLICT,
		"another client has attached to exec \"%s\" and now gets its output: attach again to take the output back",
		r->id);
	resumable_detach(r);
	call_forget(call);
	conn_say(conn, answer_detached(number, &why, NULL));
}

static struct resumable *resumable_of(struct call *call)
{
	return ((struct resumable_call *)call)->resumable;
}

/* Handles an event of the client. The event `release` ends the exec and the call for good, even if
 * the command still runs. */
static int resumable_event(struct call *call, const struct request *request, struct error *err)
{
	struct resumable *r = resumable_of(call);

	if (request->kind == REQUEST_RELEASE) {
		end_resumable(r);
		call_forget(call);
		return 0;
	}
	if (request->kind != REQUEST_ACK)
		return call_event(call, request, err);
	for (int i = 0; i < JOB_STREAMS; i++)
		if (request->offsets[i] > r->sent[i])
			return error_set(
				err, ERR_INVALID,
				"the client acknowledged output before the guest sent it: this is a bug of the client");
	for (int i = 0; i < JOB_STREAMS; i++)
		ring_forget(&r->ring[i], request->offsets[i]);
	if (r->job)
		job_resume(r->job);
	return 0;
}

static void resumable_drained(struct call *call)
{
	resumable_push(resumable_of(call));
}

static void resumable_abandon(struct call *call)
{
	if (resumable_of(call))
		resumable_detach(resumable_of(call));
	call_free(call);
}

static const struct call_kind resumable_kind = {
	.size = sizeof(struct resumable_call),
	.answer = call_answer_exit,
	.event = resumable_event,
	.drained = resumable_drained,
	.abandon = resumable_abandon,
};

static void resumable_join(struct resumable *r, struct call *call)
{
	((struct resumable_call *)call)->resumable = r;
	call->job = r->job;
	call->window = &r->input;
	r->call = call;
}

int resumable_start(struct resumables *all, struct conn *conn, const struct request *request,
		    struct error *err)
{
	struct call *call = call_new(conn, &resumable_kind, request->id ? request->id : "",
				     request->number, err);
	struct error why = {0};
	struct resumable *r = NULL;

	if (!call)
		return -1;
	if (may_start(all, request, &why) == 0)
		r = resumable_new(all, request, &why);
	if (r)
		r->job = exec_start(all->context, request, &resumable_owner, r, &why);
	if (!r || !r->job) {
		if (r)
			end_resumable(r);
		call_unstarted(call, why.msg);
		return 0;
	}
	resumable_join(r, call);
	if (job_is_running(r->job))
		on_resumable_started(r, job_pid(r->job));
	return 0;
}

int resumable_attach(struct resumables *all, struct conn *conn, const struct request *request,
		     struct error *err)
{
	struct error why = {0};
	struct resumable *r = find_resumable(all, request->exec);
	struct call *call;

	if (!r)
		error_set(
			&why, ERR_NOT_FOUND,
			"there is no exec \"%s\": it never existed, was released, or its grace time is over: run the command again",
			request->exec);
	if (!r || check_offsets(r, request, &why) < 0) {
		conn_say(conn, answer_detached(request->number, &why, NULL));
		return 0;
	}
	call = call_new(conn, &resumable_kind, request->exec, request->number, err);
	if (!call)
		return -1;
	if (r->call)
		displace(r);
	if (conn->dead)
		return 0; /* without memory, the connection and the call have ended */
	loop_remove(steal_ptr(&r->grace));
	resumable_join(r, call);
	for (int i = 0; i < JOB_STREAMS; i++) {
		ring_forget(&r->ring[i], request->offsets[i]);
		r->sent[i] = request->offsets[i];
	}
	if (r->job && request->terminal)
		job_resize(r->job, request->rows, request->columns);
	if (r->job)
		job_resume(r->job);
	if (r->pid)
		call_say_start(call, r->pid, r->id);
	resumable_push(r);
	return 0;
}
