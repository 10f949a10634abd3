/* SPDX-License-Identifier: MIT */
#include "supervisor/live/watch_opens.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"

#define TOLD_MAX 64

struct watch_opens {
	struct loop_watch *watch;
	int fd;
	char *own; /* the directory of our programs */
	watch_opens_fn *fn;
	void *data;
	uint64_t told[TOLD_MAX]; /* of program and file */
	size_t told_count;
};

static uint64_t mix_name(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 1099511628211u;
	return hash * 1099511628211u;
}

/* True once for each program and file, and not after so many. */
static bool is_news(struct watch_opens *watch, const char *exe, const char *file)
{
	uint64_t hash = mix_name(mix_name(14695981039346656037u, exe), file);

	for (size_t i = 0; i < watch->told_count; i++)
		if (watch->told[i] == hash)
			return false;
	if (watch->told_count == TOLD_MAX)
		return false;
	watch->told[watch->told_count++] = hash;
	return true;
}

/* "" where it cannot be read: the process has ended. */
static void read_program(pid_t pid, char *out, size_t size)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, out, size - 1);
	out[n < 0 ? 0 : n] = '\0';
}

static int serve_program(void *data, const struct broker_message *in, struct broker_message *out,
			 struct error *err)
{
	pid_t pid;

	(void)data;
	if (in->len != sizeof(pid))
		return error_set(err, ERR_INVALID, "no process is named");
	memcpy(&pid, in->bytes, sizeof(pid));
	read_program(pid, out->bytes, PATH_MAX);
	out->len = strlen(out->bytes);
	return 0;
}

const struct broker_duty watch_opens_duty = {serve_program};

static void name_program(pid_t pid, char out[PATH_MAX])
{
	struct broker_message in = {.len = sizeof(pid)}, answer = {0};

	if (!broker_is_asked()) {
		read_program(pid, out, PATH_MAX);
		return;
	}
	memcpy(in.bytes, &pid, sizeof(pid));
	if (broker_ask(&watch_opens_duty, &in, &answer, NULL) < 0)
		answer.bytes[0] = '\0';
	snprintf(out, PATH_MAX, "%.*s", PATH_MAX - 1, answer.bytes);
}

/* The last part of the path by which fd was opened. */
static const char *name_file(int fd, char *out, size_t size)
{
	char path[32];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, out, size - 1);
	out[n < 0 ? 0 : n] = '\0';
	slash = strrchr(out, '/');
	return slash ? slash + 1 : out;
}

static bool is_own_process(const struct watch_opens *watch, const char *exe)
{
	size_t len = strlen(watch->own);

	return strncmp(exe, watch->own, len) == 0 &&
	       strncmp(exe + len, "/microagent", strlen("/microagent")) == 0;
}

/* What our own commands read and are done with before they can be looked at. */
static bool is_read_by_commands(const char *file)
{
	static const char *const names[] = {"lease", "serial.log", "supervisor.log", "audit.log",
					    "telemetry.jsonl"};
	const char *dot = strrchr(file, '.');

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(file, names[i]) == 0)
			return true;
	return dot && strcmp(dot, ".json") == 0;
}

static void take_open(struct watch_opens *watch, const struct fanotify_event_metadata *event)
{
	char exe[PATH_MAX], path[PATH_MAX];
	const char *file;
	json_t *what;

	if (event->pid == getpid())
		return;
	name_program(event->pid, exe);
	file = name_file(event->fd, path, sizeof(path));
	if ((*exe ? is_own_process(watch, exe) : is_read_by_commands(file)) ||
	    !is_news(watch, exe, file))
		return;
	what = json_pack("{s:o, s:I}", "file", json_string_lossy(file, strlen(file)), "pid",
			 (json_int_t)event->pid);
	if (*exe)
		json_object_set_new(what, "exe", json_string_lossy(exe, strlen(exe)));
	if (watch->told_count == TOLD_MAX)
		json_object_set_new(what, "moreAreNotTold", json_true());
	watch->fn(watch->data, what);
}

static void on_events(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct watch_opens *watch = data;
	struct fanotify_event_metadata buffer[64];
	struct fanotify_event_metadata *event = buffer; /* the macros want it so */
	ssize_t left = read(fd, buffer, sizeof(buffer));

	(void)loop;
	(void)events;
	for (; FAN_EVENT_OK(event, left); event = FAN_EVENT_NEXT(event, left)) {
		if (event->fd < 0)
			continue;
		take_open(watch, event);
		close(event->fd);
	}
}

struct watch_opens *watch_opens_new(struct loop *loop, int dir, watch_opens_fn *fn, void *data,
				    struct error *err)
{
	struct watch_opens *watch = calloc(1, sizeof(*watch));

	if (!watch) {
		error_errno(err, ENOMEM, "fanotify");
		return NULL;
	}
	watch->fn = fn;
	watch->data = data;
	watch->fd = fanotify_init(FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (watch->fd < 0 || fanotify_mark(watch->fd, FAN_MARK_ADD | FAN_MARK_ONLYDIR,
					   FAN_OPEN | FAN_EVENT_ON_CHILD, dir, ".") < 0)
		error_errno(err, errno, "fanotify");
	else if ((watch->own = path_of_executable_dir(err)))
		watch->watch = loop_add_fd(loop, watch->fd, LOOP_IN, on_events, watch, err);
	if (watch->watch)
		return watch;
	watch_opens_free(watch);
	return NULL;
}

void watch_opens_free(struct watch_opens *watch)
{
	if (!watch)
		return;
	loop_remove(watch->watch);
	cleanup_close(&watch->fd);
	free(watch->own);
	free(watch);
}
