/* SPDX-License-Identifier: MIT */
#include "guest/agent/telemetry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "guest/trace/telemetry_batch.h"

static void leave_tracer(struct telemetry *t)
{
	loop_remove(steal_ptr(&t->watch));
	if (t->fd >= 0)
		close(steal_fd(&t->fd));
	proc_end(&t->proc);
}

static void send_text(struct telemetry *t, const char *text)
{
	if (framed_is_open(t->control))
		(void)framed_send(t->control, text, NULL);
}

/* status: malloc'd, or NULL for want of memory. */
static void take_first_status(struct telemetry *t, char *status, bool works)
{
	free(t->status);
	t->status = status;
	t->works = works;
	t->known(t->data);
}

/* Said instead of by the tracer. */
static void tracing_failed(struct telemetry *t, const char *why)
{
	autofree char *text = NULL;
	bool early = !t->status && !t->told, finishing = t->finishing;

	leave_tracer(t);
	if (finishing || (!early && !t->works))
		return;
	text = telemetry_status(false, false, why);
	if (early) {
		take_first_status(t, steal_ptr(&text), false);
	} else if (text && t->told) {
		send_text(t, text);
	} else if (text) {
		free(t->status);
		t->status = steal_ptr(&text);
	}
	t->works = false;
}

static bool status_works(const char *text, size_t len)
{
	json_auto_t *status = json_load_strict(text, len, NULL);

	return json_is_true(json_object_get(status, "exec"));
}

static void on_tracer_message(struct loop *loop, int fd, uint32_t events, void *data)
{
	static char text[TELEMETRY_MESSAGE_BYTES + 1024];
	struct telemetry *t = data;
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	(void)loop;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		tracing_failed(t, "the tracing process has ended");
		return;
	}
	text[n] = '\0';
	if (!t->status && !t->told) {
		take_first_status(t, strdup(text), status_works(text, (size_t)n));
		return;
	}
	send_text(t, text);
	/* The tracer drops what we do not take. */
	if (framed_is_full(t->control))
		(void)loop_set_events(t->watch, 0, NULL);
}

static int start_tracer(struct telemetry *t, void (*run)(int out), struct error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, errno, "socketpair");
	t->fd = ends[0];
	autoclose int theirs = ends[1];
	t->watch = loop_add_fd(t->loop, t->fd, LOOP_IN, on_tracer_message, t, err);
	if (!t->watch)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		run(theirs);
		_exit(0);
	}
	if (pid < 0)
		return error_errno(err, errno, "cannot start a process");
	t->proc = (struct proc){.pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
	return 0;
}

void telemetry_begin(struct telemetry *telemetry, struct loop *loop, struct framed *control,
		     void (*run)(int out), void (*known)(void *data), void *data)
{
	struct error err = {0};

	*telemetry = (struct telemetry){.loop = loop,
					.control = control,
					.fd = -1,
					.proc = PROC_NONE,
					.known = known,
					.data = data};
	if (start_tracer(telemetry, run, &err) < 0)
		tracing_failed(telemetry, err.msg);
}

void telemetry_tell(struct telemetry *telemetry)
{
	if (!telemetry->status || telemetry->told)
		return;
	telemetry->told = true;
	send_text(telemetry, telemetry->status);
	free(steal_ptr(&telemetry->status));
}

void telemetry_go_on(struct telemetry *telemetry)
{
	if (telemetry->watch)
		(void)loop_set_events(telemetry->watch, LOOP_IN, NULL);
}

void telemetry_finish(struct telemetry *telemetry)
{
	if (telemetry->finishing || !telemetry->watch)
		return;
	telemetry->finishing = true;
	telemetry_go_on(telemetry);
	shutdown(telemetry->fd, SHUT_WR);
}

bool telemetry_is_over(const struct telemetry *telemetry)
{
	return !telemetry->watch;
}

void telemetry_free(struct telemetry *telemetry)
{
	if (telemetry->loop)
		leave_tracer(telemetry);
	free(steal_ptr(&telemetry->status));
}
