/* SPDX-License-Identifier: MIT */
#include "guest/agent/stdin_window.h"

#include "base/limits.h"
#include "guest/job/job.h"

void stdin_window_open(struct stdin_window *window)
{
	*window = (struct stdin_window){
		.waiting = BUF_INIT((size_t)limit_get(LIMIT_STDIN_WINDOW_BYTES)),
	};
}

void stdin_window_drop(struct stdin_window *window)
{
	buf_free(&window->waiting);
	window->closing = false;
}

static size_t give_to_job(struct stdin_window *window, struct job *job, const void *bytes,
			  size_t len)
{
	size_t taken = len > 0 && job ? job_write_stdin(job, bytes, len) : len;

	window->taken += taken;
	return taken;
}

void stdin_window_feed(struct stdin_window *window, struct job *job)
{
	struct buf *waiting = &window->waiting;

	buf_consume(waiting, give_to_job(window, job, buf_bytes(waiting), waiting->len));
	if (!window->closing || waiting->len > 0)
		return;
	window->closing = false;
	window->over = true;
	if (job)
		job_close_stdin(job);
}

int stdin_window_put(struct stdin_window *window, struct job *job, const void *bytes, size_t len,
		     struct error *err)
{
	struct buf *waiting = &window->waiting;
	size_t given;

	if (window->closing || window->over)
		return 0; /* The client has sent the end of stdin: these bytes are dropped. */
	if (len > waiting->limit - waiting->len)
		return error_set(
			err, ERR_INVALID,
			"more than %zu bytes of stdin were sent that the command has not read: this is a bug of the client, which must wait for \"taken\"",
			waiting->limit);
	/* Most commands read their stdin soon, so usually the window need not store any byte. */
	given = waiting->len == 0 ? give_to_job(window, job, bytes, len) : 0;
	if (given < len &&
	    buf_append(waiting, (const uint8_t *)bytes + given, len - given, err) < 0)
		return -1;
	return 0;
}

void stdin_window_close(struct stdin_window *window, struct job *job)
{
	if (window->over)
		return;
	window->closing = true;
	stdin_window_feed(window, job);
}

bool stdin_window_is_due(struct stdin_window *window)
{
	if (window->taken - window->told < limit_get(LIMIT_STDIN_ACK_BYTES))
		return false;
	window->told = window->taken;
	return true;
}
