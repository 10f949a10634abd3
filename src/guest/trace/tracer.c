/* SPDX-License-Identifier: MIT */
#include "guest/trace/tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"
#include "guest/console.h"
#include "guest/trace/kaudit_event.h"
#include "guest/trace/kaudit_link.h"
#include "guest/trace/telemetry_batch.h"
#include "guest/trace/written_files.h"

/* The longest time between an event and the message about it to the agent, in ns. */
#define TELL_NS (100 * NS_PER_MS)
/* The longest time that records stay in the kernel before all of them are fetched at once. If the
 * tracer woke up for each record, it would delay the process that has caused the record more than
 * the kernel's own work does. In FETCH_NS, at most a fifth of the kernel's room for records is
 * filled. Also, if a file is written and closed again and again, the kernel then makes one event of
 * several closings. */
#define FETCH_NS (20 * NS_PER_MS)
/* How often the tracer asks the kernel how many records it has dropped, in ns. The tracer asks
 * while events come, and once more after the last event. */
#define ASK_NS NS_PER_S

struct tracer {
	struct loop *loop;
	int out;
	struct kaudit_link link;
	struct kaudit_events events;
	struct written_files files;
	struct telemetry_batch batch;
	struct loop_watch *link_watch, *files_watch;
	struct loop_watch *fetch, *tell, *ask;
	char *status; /* the last telemetry-status message */
	bool quiet;   /* no record has come since the last kaudit_link_ask() */
	bool over;
};

/* The tracer of this process. The variable is static, since its table of files is large. */
static struct tracer tracer = {.link = {.fd = -1}, .files = {.fd = -1, .mounts = -1}};

/* --- out ------------------------------------------------------------------------------------- */

/* Sends the batch to the agent without waiting. If the agent is too slow to read the batch, its
 * records are dropped and counted. */
static void send_batch(struct tracer *t)
{
	uint64_t lost = t->batch.lost, count = t->batch.count;
	autofree char *text = telemetry_batch_message(&t->batch);

	if (!text || send(t->out, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return;
	t->batch.lost += lost + count;
	t->over |= errno == EPIPE || errno == ECONNRESET;
}

static void batch_record(struct tracer *t, char *record)
{
	if (!telemetry_batch_has_room(&t->batch, record))
		send_batch(t);
	telemetry_batch_add(&t->batch, record);
}

static void tell_written(struct tracer *t)
{
	for (size_t i = 0; i < t->files.count; i++)
		if (written_files_is_ours(&t->files, &t->files.closed[i]))
			batch_record(t, telemetry_written_record(&t->files.closed[i]));
	t->files.count = 0;
}

static void on_traced_event(void *data, const struct kaudit_event *event)
{
	struct tracer *t = data;

	if (!telemetry_is_of_interest(event))
		return;
	if (event->kind == KAUDIT_OPEN && event->exit >= 0)
		written_files_opened(&t->files,
				     makedev((unsigned)event->major, (unsigned)event->minor),
				     event->inode);
	batch_record(t, telemetry_record(event));
}

/* --- in -------------------------------------------------------------------------------------- */

static void gather_lost(struct tracer *t)
{
	t->batch.lost += t->link.lost + t->events.lost + t->files.lost;
	t->link.lost = t->events.lost = t->files.lost = 0;
}

static void read_kernel_link(struct tracer *t)
{
	const char *text;
	unsigned type;
	size_t len;

	while (kaudit_link_next(&t->link, &type, &text, &len)) {
		kaudit_events_take(&t->events, type, text, len);
		t->quiet = false;
	}
	gather_lost(t);
}

/* Reads the kernel's records once more, and sends all records and all written files that were
 * closed. These files are sent only here, since the record that a file was opened may come after
 * the event that it was closed. */
static void on_tell(struct loop *loop, void *data)
{
	struct tracer *t = data;

	(void)loop;
	t->tell = NULL;
	read_kernel_link(t);
	tell_written(t);
	send_batch(t);
}

static void on_ask(struct loop *loop, void *data);

static void tell_soon(struct tracer *t)
{
	uint64_t now = clock_mono_ns();

	if (!t->tell)
		t->tell = loop_add_timer(t->loop, now + TELL_NS, on_tell, t, NULL);
	if (!t->ask)
		t->ask = loop_add_timer(t->loop, now + ASK_NS, on_ask, t, NULL);
}

static void on_ask(struct loop *loop, void *data)
{
	struct tracer *t = data;

	(void)loop;
	t->ask = NULL;
	if (t->quiet)
		kaudit_events_flush(&t->events); /* their missing records do not come any more */
	kaudit_events_settle(&t->events);
	gather_lost(t);
	kaudit_link_ask(&t->link);
	if (!t->quiet || t->batch.lost > 0)
		tell_soon(t);
	t->quiet = true;
}

static void listen_again(struct tracer *t)
{
	struct error err = {0};

	if (loop_set_events(t->link_watch, LOOP_IN, &err) == 0 &&
	    (!t->files_watch || loop_set_events(t->files_watch, LOOP_IN, &err) == 0))
		return;
	console_line("telemetry: %s", err.msg);
	t->over = true;
}

static void on_fetch(struct loop *loop, void *data)
{
	struct tracer *t = data;

	(void)loop;
	t->fetch = NULL;
	read_kernel_link(t);
	while (!written_files_read(&t->files)) {
		read_kernel_link(t);
		tell_written(t);
	}
	if (!t->quiet || t->batch.lost > 0 || t->files.count > 0)
		tell_soon(t);
	listen_again(t);
}

/* Called when the kernel has records or events of closed files. Sets a timer to fetch them after
 * FETCH_NS nanoseconds. Until then the tracer is not woken up by further records. */
static void on_kernel(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct tracer *t = data;

	(void)fd;
	(void)events;
	if (!t->fetch)
		t->fetch = loop_add_timer(loop, clock_mono_ns() + FETCH_NS, on_fetch, t, NULL);
	if (!t->fetch) {
		on_fetch(loop, t);
		return;
	}
	(void)loop_set_events(t->link_watch, 0, NULL);
	if (t->files_watch)
		(void)loop_set_events(t->files_watch, 0, NULL);
}

static void on_mounts(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct tracer *t = data;

	(void)loop;
	(void)fd;
	if (events & LOOP_PRI)
		written_files_mark(&t->files);
}

static void tell_the_rest(struct tracer *t)
{
	read_kernel_link(t);
	/* The first call counts the lost events up to the mark, the second those with higher
	 * numbers (struct kaudit_serials). */
	kaudit_events_settle(&t->events);
	kaudit_events_settle(&t->events);
	kaudit_events_flush(&t->events);
	gather_lost(t);
	(void)written_files_read(&t->files);
	tell_written(t);
	send_batch(t);
}

static void say_status(struct tracer *t)
{
	if (!t->status || send(t->out, t->status, strlen(t->status), MSG_NOSIGNAL) < 0)
		t->over = true;
}

/* Handles a message of the agent. A byte asks the tracer to send all records that it has, and then
 * to send its status again. The end of file means that the agent wants the tracer to stop. */
static void on_agent(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct tracer *t = data;
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

	(void)loop;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	t->over = n <= 0;
	if (t->over)
		return;
	tell_the_rest(t);
	/* Removes the timers, since the machine may now be saved, and a restored machine must not
	 * send records of the saved machine. */
	loop_remove(steal_ptr(&t->tell));
	loop_remove(steal_ptr(&t->ask));
	if (t->fetch) {
		loop_remove(steal_ptr(&t->fetch));
		listen_again(t);
	}
	say_status(t);
}

/* --- the process ----------------------------------------------------------------------------- */

static int tracer_follow(struct tracer *t, struct error *err)
{
	t->loop = loop_new(err);
	if (!t->loop || !loop_add_fd(t->loop, t->out, LOOP_IN, on_agent, t, err))
		return -1;
	t->link_watch = loop_add_fd(t->loop, t->link.fd, LOOP_IN, on_kernel, t, err);
	if (!t->link_watch)
		return -1;
	if (t->files.fd >= 0)
		t->files_watch = loop_add_fd(t->loop, t->files.fd, LOOP_IN, on_kernel, t, err);
	if (t->files.fd >= 0 && !t->files_watch)
		return -1;
	if (t->files.mounts >= 0 &&
	    !loop_add_fd(t->loop, t->files.mounts, LOOP_PRI, on_mounts, t, err))
		return -1;
	while (!t->over)
		if (loop_once(t->loop, -1, err) < 0)
			return -1;
	return 0;
}

void tracer_run(int out)
{
	struct tracer *t = &tracer;
	struct error err = {0};
	bool syscalls, writes;

	prctl(PR_SET_NAME, "agent-tracer");
	fd_close_others(&out, 1);
	t->out = out;
	t->events.done = on_traced_event;
	t->events.data = t;
	syscalls = kaudit_link_open(&t->link, &err) == 0;
	writes = syscalls && written_files_begin(&t->files, &err) == 0;
	t->status = telemetry_status(syscalls, writes, err.msg);
	say_status(t);
	if (!syscalls || t->over)
		return;
	if (tracer_follow(t, &err) < 0)
		console_line("telemetry: %s", err.msg);
	tell_the_rest(t);
}
