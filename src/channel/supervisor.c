/* SPDX-License-Identifier: MIT */
#include "channel/supervisor.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/min.h"
#include "base/path.h"
#include "base/platform/descriptor.h"
#include "channel/lifeline.h"
#include "channel/program.h"

/* The descriptors of the child in addition to 0, 1 and 2. The child's options contain these numbers
 * as text. */
enum child_fd { CHILD_LIFELINE = 3, CHILD_EVENTS = 4 };

#define EVENT_LINE_MAX 65536u

/* Returns the value of the environment variable for a backend, such as $MICROAGENT_QEMU_SUPERVISOR
 * for "qemu". Returns NULL if the variable is unset or empty. */
static const char *from_environment(const char *backend)
{
	char name[64] = "MICROAGENT_";
	size_t len = strlen(name);

	for (; *backend && len < sizeof(name) - 12; backend++)
		name[len++] = *backend == '-' ? '_' : (char)toupper((unsigned char)*backend);
	memcpy(name + len, "_SUPERVISOR", 12);
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

void supervisor_program(const char *backend, char out[SUPERVISOR_PROGRAM])
{
	char name[32];
	size_t len = 0;

	for (; *backend && len < sizeof(name) - 1; backend++)
		if (*backend != '-')
			name[len++] = *backend;
	name[len] = '\0';
	snprintf(out, SUPERVISOR_PROGRAM, "microagent-%s-supervisor", name);
}

char *supervisor_find(const char *backend, struct error *err)
{
	const char *given = from_environment(backend);
	char program[SUPERVISOR_PROGRAM];

	if (given)
		return path_absolute(given, err);
	supervisor_program(backend, program);
	return program_find(program, err);
}

/* Returns a new descriptor that a supervisor gets as stdin, and from which it reads the request. */
static int request_fd(const json_t *request, struct error *err)
{
	autofree char *text = json_line(request, err);

	if (!text)
		return -1;
	if (strlen(text) > limit_get(LIMIT_REQUEST_BYTES))
		return error_set(
			err, ERR_INVALID,
			"the request to the supervisor is longer than %llu bytes, the most that it takes: make the config shorter",
			(unsigned long long)limit_get(LIMIT_REQUEST_BYTES));
	return fd_memfd("request", text, strlen(text), err);
}

#define WAIT_MS 200

/* Waits until `fd` has a byte or is at its end, or until the supervisor has ended. Returns 1 after
 * one of these events, and 0 if wait->cancel became readable or the deadline passed first. */
static int wait_answer(int fd, const struct proc *proc, const struct supervisor_wait *wait,
		       struct error *err)
{
	static const struct supervisor_wait none = {.cancel = -1};

	if (!wait)
		wait = &none;
	const uint64_t deadline = wait->deadline_ns ? wait->deadline_ns : UINT64_MAX;
	for (;;) {
		uint64_t tick = wait->fn ? clock_mono_ns() + WAIT_MS * NS_PER_MS : UINT64_MAX;
		struct pollfd slots[3] = {{.fd = fd, .events = POLLIN},
					  {.fd = proc->pidfd, .events = POLLIN},
					  {.fd = wait->cancel, .events = POLLIN}};
		int got = descriptor_poll(slots, ARRAY_SIZE(slots), min_u64(tick, deadline));

		if (got < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (got > 0)
			return slots[0].revents || slots[1].revents ? 1 : 0;
		if (got == 0 && clock_mono_ns() >= deadline)
			return 0;
		if (wait->fn)
			wait->fn(wait->data);
	}
}

/*
 * Reads the answer until the supervisor has ended. By then everything that the supervisor wrote has
 * arrived. The end of the pipe may come later: if another thread has forked while this process had
 * the writing end, the forked child keeps the writing end as long as it lives.
 */
static int read_to_its_end(int fd, const struct proc *proc, struct buf *text, struct error *err)
{
	bool ended = false;

	for (;;) {
		struct pollfd slots[2] = {{.fd = fd, .events = POLLIN},
					  {.fd = ended ? -1 : proc->pidfd, .events = POLLIN}};
		int got = descriptor_poll(slots, ARRAY_SIZE(slots), ended ? 0 : UINT64_MAX);
		int more = 1;

		if (got < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (got > 0 && slots[0].revents)
			more = fd_read_some(fd, text, err);
		else if (got >= 0 && ended)
			more = 0;
		else if (got > 0)
			ended = true;
		if (more <= 0)
			return more;
	}
}

#define NOTES_SHOWN 400

/* Reads the supervisor's answer to its end, and reaps the supervisor. */
static json_t *supervisor_take_answer(int fd, int notes, struct proc *proc, int *exit_code,
				      struct error *err)
{
	autobuf struct buf text = BUF_INIT(limit_get(LIMIT_STATE_FILE_BYTES));
	json_t *answer = NULL;
	int code;

	if (read_to_its_end(fd, proc, &text, err) < 0) {
		error_prefix(err, "the supervisor's answer cannot be read");
		return NULL;
	}
	if (proc_wait(proc, UINT64_MAX, &code, err) < 0)
		return NULL;
	if (text.len == 0) {
		/* The supervisor ended without an answer on stdout. Only the last part of its
		 * stderr can say why. */
		char said[NOTES_SHOWN + 1];
		off_t size = lseek(notes, 0, SEEK_END);
		off_t from = size > NOTES_SHOWN ? size - NOTES_SHOWN : 0;
		ssize_t n = pread(notes, said, NOTES_SHOWN, from);

		while (n > 0 && said[n - 1] == '\n')
			n--;
		said[n > 0 ? n : 0] = '\0';
		error_set(err, ERR_IO, "the supervisor ended with exit code %d and no answer%s%s",
			  code, said[0] ? ": " : "", said);
		return NULL;
	}
	answer = json_load_strict(buf_bytes(&text), text.len, err);
	if (!answer) {
		if (err)
			err->code = ERR_IO;
		error_prefix(err, "the supervisor's answer cannot be read");
		return NULL;
	}
	*exit_code = code;
	return answer;
}

json_t *supervisor_call(const char *path, const char *const *options, const json_t *request,
			const struct supervisor_wait *wait, int *exit_code, struct error *err)
{
	json_t *answer = NULL;
	autoclose int in = request_fd(request, err);
	autoclose int notes = fd_memfd("notes", "", 0, err);
	int ends[2];

	if (in < 0 || notes < 0 || fd_pipe(ends, err) < 0)
		return NULL;

	autoclose int out = ends[0];
	autoclose int child_out = ends[1];
	struct proc proc = PROC_NONE;
	const char *argv[SUPERVISOR_OPTIONS_MAX + 2] = {path};
	struct proc_fd fds[3 + SUPERVISOR_HANDED_MAX] = {{in, 0}, {child_out, 1}, {notes, 2}};
	size_t nhanded = wait ? wait->nhanded : 0;
	const struct proc_spec spec = {.argv = argv,
				       .fds = fds,
				       .nfds = 3 + nhanded,
				       .new_session = wait && wait->apart,
				       .die_with_parent = wait && wait->bound};
	int got;

	for (size_t i = 0; options && options[i]; i++) {
		if (i == SUPERVISOR_OPTIONS_MAX) {
			error_set(
				err, ERR_INTERNAL,
				"the supervisor was to get more than %d options: this is a bug of microagent",
				SUPERVISOR_OPTIONS_MAX);
			return NULL;
		}
		argv[1 + i] = options[i];
	}
	for (size_t i = 0; i < nhanded && i < SUPERVISOR_HANDED_MAX; i++)
		fds[3 + i] = (struct proc_fd){wait->handed[i], SUPERVISOR_HANDED + (int)i};
	if (proc_spawn(&spec, &proc, err) < 0)
		return NULL;
	close(steal_fd(&child_out));
	got = wait_answer(out, &proc, wait, err);
	if (got > 0)
		answer = supervisor_take_answer(out, notes, &proc, exit_code, err);
	else if (got == 0)
		error_set(err, ERR_UNAVAILABLE, "cancelled");
	proc_end(&proc);
	return answer;
}

json_t *supervisor_capabilities(const char *path, struct error *err)
{
	autobuf struct buf text = BUF_INIT(limit_get(LIMIT_STATE_FILE_BYTES));
	const char *const argv[] = {path, "--print-capabilities", NULL};
	uint64_t deadline = limit_deadline(LIMIT_CAPABILITIES_MS);

	if (proc_run(argv, &text, deadline, err) < 0)
		return NULL;
	return json_load_strict(buf_bytes(&text), text.len, err);
}

int supervisor_error(const json_t *response, struct error *err)
{
	bool ok = false;

	if (json_get_bool(response, "answer of the supervisor", "ok", JSON_REQUIRED, &ok, err) < 0)
		return -1;
	if (ok)
		return 0;
	return json_get_error(response, "no reason given", err);
}

int supervisor_run_start(const char *path, const json_t *request, const char *option, bool keep,
			 struct supervisor_run *out, struct error *err)
{
	autoclose int in = request_fd(request, err);
	autoclose int notes = fd_memfd("notes", "", 0, err);
	autoline int near_end = -1;
	autoclose int far_end = -1;
	int answer[2], events[2];

	if (in < 0 || notes < 0 || fd_pipe(answer, err) < 0)
		return -1;
	autoclose int answer_read = answer[0], answer_write = answer[1];

	if (fd_pipe(events, err) < 0)
		return -1;
	autoclose int events_read = events[0], events_write = events[1];

	if (lifeline_open(&near_end, &far_end, err) < 0)
		return -1;

	const char *argv[9] = {path, "--attach", "--lifeline-fd", "3", "--events-fd", "4"};
	size_t words = 6;
	const struct proc_fd fds[] = {{in, 0},
				      {answer_write, 1},
				      {notes, 2},
				      {far_end, CHILD_LIFELINE},
				      {events_write, CHILD_EVENTS}};
	/* The supervisor runs in a new session. So Ctrl-C at the terminal reaches only this
	 * process, and this process then cuts the lifeline. */
	const struct proc_spec spec = {
		.argv = argv, .fds = fds, .nfds = ARRAY_SIZE(fds), .new_session = true};
	struct proc proc = PROC_NONE;

	if (!keep)
		argv[words++] = "--remove";
	if (option)
		argv[words++] = option;
	if (fd_nonblock(events_read, true, err) < 0)
		return -1;
	if (proc_spawn(&spec, &proc, err) < 0)
		return -1;
	*out = (struct supervisor_run){
		.proc = proc,
		.lifeline = steal_fd(&near_end),
		.events = steal_fd(&events_read),
		.answer = steal_fd(&answer_read),
		.notes = steal_fd(&notes),
		.queued = BUF_INIT(EVENT_LINE_MAX),
	};
	return 0;
}

/* Takes an event from the queue. Returns 1 if there was an event, 0 if the queue has no complete
 * line, -1 on an error. */
static int queued_event(struct supervisor_run *run, json_t **event, struct error *err)
{
	const uint8_t *bytes = buf_bytes(&run->queued);
	const uint8_t *end = memchr(bytes, '\n', run->queued.len);
	json_t *value;

	if (!end)
		return 0;
	value = json_load_strict(bytes, (size_t)(end - bytes), err);
	if (!value)
		return error_prefix(err, "the supervisor's event cannot be read");
	buf_consume(&run->queued, (size_t)(end - bytes) + 1);
	*event = value;
	return 1;
}

int supervisor_run_event(struct supervisor_run *run, json_t **event, struct error *err)
{
	for (;;) {
		uint8_t bytes[4096];
		int got = queued_event(run, event, err);
		ssize_t n;

		if (got != 0)
			return got;
		n = read(run->events, bytes, sizeof(bytes));
		if (n == 0)
			return error_set(err, ERR_UNAVAILABLE,
					 "the supervisor has ended, so no more events come");
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : error_errno(err, errno, "events");
		if (buf_append(&run->queued, bytes, (size_t)n, err) < 0)
			return error_prefix(err, "the supervisor's event cannot be read");
	}
}

void supervisor_run_cut(struct supervisor_run *run)
{
	lifeline_cut(&run->lifeline);
}

json_t *supervisor_run_finish(struct supervisor_run *run, const struct supervisor_wait *wait,
			      int *exit_code, struct error *err)
{
	struct supervisor_wait rest = wait ? *wait : (struct supervisor_wait){.cancel = -1};
	int got;

	while ((got = wait_answer(run->answer, &run->proc, &rest, err)) == 0) {
		supervisor_run_cut(run);
		rest.cancel = -1;
		rest.deadline_ns = 0;
	}
	if (got < 0)
		return NULL;
	return supervisor_take_answer(run->answer, run->notes, &run->proc, exit_code, err);
}

void supervisor_run_free(struct supervisor_run *run)
{
	int code;

	supervisor_run_cut(run);
	/* Nobody reads events any more. A full pipe must not block the supervisor. */
	if (run->events >= 0)
		close(steal_fd(&run->events));
	if (run->answer >= 0)
		close(steal_fd(&run->answer));
	if (run->notes >= 0)
		close(steal_fd(&run->notes));
	/* The supervisor is not killed, because it removes what the machine has left. Its own
	 * deadlines make sure that it ends. */
	if (run->proc.pid > 0)
		proc_wait(&run->proc, UINT64_MAX, &code, NULL);
	buf_free(&run->queued);
}
