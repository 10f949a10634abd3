/* SPDX-License-Identifier: MIT */
/* Runs a program in the foreground. The program runs for a long time, and prints lines
 * meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/proc.h"
#include "session/macos/macos.h"

#define TICK_MS 200
#define LINE_BYTES (64u << 10)

struct running {
	const struct making *making;
	const struct macos_child *child;
	struct proc proc;
	int out;
	struct buf rest;  /* received bytes of a line that is not complete yet */
	bool at_terminal; /* the child is in the session and in the process group of this process */
	bool cancelled;
};

/* Passes the line that ends at `end` to the caller's function, and removes the line and the byte at
 * `end` from the buffer. A line that is too long for the buffer is passed as several lines. */
static int hear_line(struct running *r, const char *end, struct error *err)
{
	size_t len = (size_t)(end - (const char *)buf_bytes(&r->rest));
	autofree char *text = strndup((const char *)buf_bytes(&r->rest), len);

	if (!text)
		return error_errno(err, ENOMEM, "%s", r->child->argv[0]);
	r->child->line(r->child->data, text);
	buf_consume(&r->rest, len < r->rest.len ? len + 1 : len);
	return 0;
}

/* Reads some output and passes its lines to the caller's function. Returns 1 if more output may
 * come, 0 if the output has ended, or -1 with err set. */
static int hear_some(struct running *r, struct error *err)
{
	uint8_t *room = buf_reserve(&r->rest, 4096, err);
	ssize_t n = room ? read(r->out, room, 4096) : -1;
	const char *end;

	if (!room)
		return -1;
	if (n < 0)
		return errno == EINTR ? 1 : error_errno(err, errno, "%s", r->child->argv[0]);
	buf_commit(&r->rest, (size_t)n);
	while ((end = memchr(buf_bytes(&r->rest), '\n', r->rest.len)) ||
	       (r->rest.len > LINE_BYTES && (end = (const char *)buf_bytes(&r->rest) + LINE_BYTES)))
		if (hear_line(r, end, err) < 0)
			return -1;
	if (n == 0 && r->rest.len > 0 &&
	    hear_line(r, (const char *)buf_bytes(&r->rest) + r->rest.len, err) < 0)
		return -1;
	return n > 0;
}

static int hear_to_end(struct running *r, struct error *err)
{
	int cancel = r->making->spec->cancel > 0 ? r->making->spec->cancel : -1, more = 1;
	const struct microagent *agent = r->making->agent;

	while (more > 0) {
		struct pollfd slots[] = {
			{.fd = r->out, .events = POLLIN},
			{.fd = r->cancelled ? -1 : cancel, .events = POLLIN},
			/* After a cancellation, the loop ends when the child ends, even if a
			 * process that the child started could still write output. */
			{.fd = r->cancelled ? r->proc.pidfd : -1, .events = POLLIN}};
		int got = poll(slots, ARRAY_SIZE(slots), TICK_MS);

		if (got < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (agent->wait_fn)
			agent->wait_fn(agent->wait_data);
		if (r->child->tick)
			r->child->tick(r->child->data);
		if (got > 0 && slots[1].revents) {
			r->cancelled = true;
			/* The child's whole process group is signalled, because a program that the
			 * script started would keep the pipe open. The number cannot belong to
			 * another group: the child is the leader of its group, and was not reaped
			 * yet. A child at a terminal is in the group of this process, so only the
			 * child is signalled. Ctrl-C reaches the whole group anyway. */
			(void)kill(r->at_terminal ? r->proc.pid : -r->proc.pid, SIGTERM);
		}
		if (got > 0 && slots[0].revents)
			more = hear_some(r, err);
		else if (got > 0 && slots[2].revents)
			more = 0;
	}
	return more;
}

/* Returns true if this process has a terminal and is in the terminal's foreground process group, so
 * that a person at the terminal can answer questions. */
static bool have_terminal(void)
{
	autoclose int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	return fd >= 0 && tcgetpgrp(fd) == getpgrp();
}

int macos_child_run(const struct making *m, const struct macos_child *child, int *code,
		    struct error *err)
{
	struct running r = {.making = m, .child = child, .proc = PROC_NONE};
	int output[2], input[2], status;

	if (fd_pipe(output, err) < 0)
		return -1;
	autoclose int out = output[0], child_out = output[1];

	/* The child's stdin is a socket, so that writing to a child that has stopped reading raises
	 * no signal. */
	if (fd_socketpair(input, err) < 0)
		return -1;
	autoclose int child_in = input[0], in = input[1];

	r.out = out;
	r.at_terminal = child->terminal && have_terminal();
	const struct proc_fd fds[] = {
		{child_in, STDIN_FILENO}, {child_out, STDOUT_FILENO}, {child_out, STDERR_FILENO}};
	const size_t first = child->input ? 0 : 1;
	/* A child usually gets a separate session. Ctrl-C then reaches only this process, which
	 * ends the child. But a process in a separate session has no terminal. So a child that asks
	 * a person at the terminal stays in the session of this process, and Ctrl-C reaches the
	 * child too. Such a child may run as root, and this process may not signal a process of
	 * root, so only Ctrl-C can end it. */
	const struct proc_spec spec = {.argv = child->argv,
				       .fds = fds + first,
				       .nfds = ARRAY_SIZE(fds) - first,
				       .new_session = !r.at_terminal,
				       .die_with_parent = true};

	if (proc_spawn(&spec, &r.proc, err) < 0)
		return error_prefix(err, "%s", child->argv[0]);
	close(steal_fd(&child_out));
	close(steal_fd(&child_in));
	/* The result of the write is ignored: a child that ends without reading its stdin reports
	 * the reason itself. */
	if (child->input && fd_write_all(in, child->input, strlen(child->input), NULL) == 0)
		(void)fd_write_all(in, "\n", 1, NULL);
	status = hear_to_end(&r, err);
	if (status == 0)
		status = proc_wait(&r.proc, UINT64_MAX, code, err);
	proc_end(&r.proc);
	buf_free(&r.rest);
	if (status == 0 && r.cancelled)
		return error_set(err, ERR_UNAVAILABLE, "cancelled");
	return status;
}
