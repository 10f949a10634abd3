/* SPDX-License-Identifier: MIT */
#include "guest/agent/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* --- its life -------------------------------------------------------------------------------- */

struct call *call_new(struct conn *conn, const struct call_kind *kind, const char *id,
		      uint64_t number, struct error *err)
{
	struct call *call = calloc(1, kind->size);

	if (call) {
		call->kind = kind;
		call->number = number;
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

void call_open_window(struct call *call)
{
	call->window = &call->own;
	stdin_window_open(call->window);
}

void call_free(struct call *call)
{
	if (call->kind->drop)
		call->kind->drop(call);
	stdin_window_drop(&call->own);
	free(call->id);
	free(call);
}

void call_forget(struct call *call)
{
	conn_remove(call->conn, call);
	call_free(call);
}

void call_exit(struct call *call, const struct job_end *end)
{
	struct conn *conn = call->conn;

	conn_say(conn, call->kind->answer(call, end, NULL));
	if (conn->dead)
		return; /* no memory: the connection has ended and freed its calls */
	call_forget(call);
	/* The connection may have waited until this call's stdin had room. */
	conn->waiting = false;
	conn_go_on(conn);
}

void call_unstarted(struct call *call, const char *why)
{
	struct job_end end = job_end_unstarted(why);

	call_exit(call, &end);
}

void call_job_ended(void *data, const struct job_end *end)
{
	struct call *call = data;

	call->job = NULL;
	call_exit(call, end);
}

/* --- what it says ---------------------------------------------------------------------------- */

char *call_answer_exit(struct call *call, const struct job_end *end, struct error *err)
{
	return answer_exit(call->number, call->id, end, err);
}

void call_say_start(struct call *call, pid_t pid, const char *exec)
{
	if (call->window)
		call->window->told = call->window->taken;
	conn_say(call->conn, answer_start(call->number, call->id, pid, exec, call->window, NULL));
}

void call_say_taken(struct call *call)
{
	if (call->window && stdin_window_is_due(call->window))
		conn_say(call->conn, answer_ack(call->number, call->window->taken, NULL));
}

/* --- what its client sends ------------------------------------------------------------------- */

int call_take_stdin(struct call *call, const uint8_t *bytes, size_t len, struct error *err)
{
	struct conn *conn = call->conn;

	if (call->window) {
		if (stdin_window_put(call->window, call->job, bytes, len, err) < 0)
			return -1;
		call_say_taken(call);
		return 1;
	}
	if (call->job)
		conn->stdin_taken += job_write_stdin(call->job, bytes + conn->stdin_taken,
						     len - conn->stdin_taken);
	else
		conn->stdin_taken = len;
	conn->waiting = conn->stdin_taken < len;
	if (conn->waiting)
		return 0;
	conn->stdin_taken = 0;
	return 1;
}

void call_close_stdin(struct call *call)
{
	if (call->window) {
		stdin_window_close(call->window, call->job);
		call_say_taken(call);
	} else if (call->job) {
		job_close_stdin(call->job);
	}
}

int call_event(struct call *call, const struct request *request, struct error *err)
{
	struct job *job = call->job;

	(void)err;
	if (request->kind == REQUEST_STDIN_CLOSE)
		call_close_stdin(call);
	else if (job && request->kind == REQUEST_SIGNAL)
		job_signal(job, request->signal);
	else if (job && request->kind == REQUEST_RESIZE)
		job_resize(job, request->rows, request->columns);
	else if (job && request->kind == REQUEST_CANCEL)
		job_kill(job);
	else if (job && request->kind == REQUEST_START)
		job_release(job);
	return 0;
}

/* Closes the command's stdin, but only at the first call. A second close would send a second
 * end-of-file character to a terminal. */
void call_input_ended(struct call *call)
{
	if (!call->job || call->stdin_told_over)
		return;
	call->stdin_told_over = true;
	call_close_stdin(call);
}

/* --- what happens to its connection ---------------------------------------------------------- */

void call_drained(struct call *call)
{
	if (call->job)
		job_resume(call->job);
}

void call_abandon(struct call *call)
{
	if (call->job)
		job_abandon(call->job);
	call_free(call);
}
