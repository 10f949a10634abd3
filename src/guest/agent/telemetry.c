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

static void tell_settled(struct telemetry *t)
{
	void (*settled)(void *data) = steal_ptr(&t->settled);

	if (settled)
		settled(t->settled_data);
}

static void leave_tracer(struct telemetry *t)
{
	loop_remove(steal_ptr(&t->watch));
	if (t->fd >= 0)
		close(steal_fd(&t->fd));
	proc_end(&t->proc);
}

static void send_text(struct telemetry *t, const char *text)
{
	if (t->told && framed_is_open(t->control))
		(void)framed_send(t->control, text, NULL);
}

/* Handles the tracer's status message. Takes ownership of `status`. NULL means that there was no
 * memory for the message. */
static void take_status(struct telemetry *t, char *status, bool works)
{
	bool first = !t->status;

	free(t->status);
	t->status = status;
	t->works = works;
	if (first)
		t->known(t->data);
	else if (status)
		send_text(t, status);
}

/* Ends the tracer, and tells the host that nothing is traced. `why` is the reason. */
static void tracing_failed(struct telemetry *t, const char *why)
{
	leave_tracer(t);
	if (!t->finishing && (!t->status || t->works))
		take_status(t, telemetry_status(false, false, why), false);
	tell_settled(t);
}

/* Reads from the tracer only while the host reads its messages. The tracer drops records that the
 * agent does not read in time. */
static void take_when_wanted(struct telemetry *t)
{
	bool wanted = t->finishing || (t->told && !framed_is_full(t->control));

	if (t->watch)
		(void)loop_set_events(t->watch, wanted ? LOOP_IN : 0, NULL);
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
	if (!t->status) {
		json_auto_t *status = json_load_strict(text, (size_t)n, NULL);

		take_status(t, strdup(text), json_is_true(json_object_get(status, "exec")));
	} else if (t->settled && strcmp(text, t->status) == 0) {
		/* The tracer sends its status a second time after all other messages. */
		tell_settled(t);
	} else {
		send_text(t, text);
	}
	take_when_wanted(t);
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
	take_when_wanted(telemetry);
}

void telemetry_go_on(struct telemetry *telemetry)
{
	take_when_wanted(telemetry);
}

void telemetry_settle(struct telemetry *telemetry, void (*settled)(void *data), void *data)
{
	telemetry->settled = settled;
	telemetry->settled_data = data;
	if (!telemetry->watch || send(telemetry->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		tell_settled(telemetry);
}

void telemetry_hold(struct telemetry *telemetry)
{
	telemetry->told = false;
	telemetry->settled = NULL;
	take_when_wanted(telemetry);
}

void telemetry_finish(struct telemetry *telemetry)
{
	if (telemetry->finishing || !telemetry->watch)
		return;
	telemetry->finishing = true;
	take_when_wanted(telemetry);
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
