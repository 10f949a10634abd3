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

/* Who has opened a file. */
struct opener {
	char exe[PATH_MAX]; /* "" where it cannot be read: the process has ended */
	bool has_library;   /* libmicroagent is a part of it, where that was asked */
};

/* What is asked about it. */
struct opener_question {
	pid_t pid;
	int library; /* not 0: also whether it has the library, for which all of its maps are read */
};

/* Is in the path of the mapping of our library, whatever the version. */
#define LIBRARY "/libmicroagent.so"
#define MAPS_MAX (4u << 20) /* bytes that are looked at */

static bool has_library(pid_t pid)
{
	char path[32], line[PATH_MAX + 128];
	size_t read = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	autofile FILE *maps = fopen(path, "re");
	while (maps && read < MAPS_MAX && fgets(line, sizeof(line), maps)) {
		if (strstr(line, LIBRARY))
			return true;
		read += strlen(line);
	}
	return false;
}

static void read_opener(const struct opener_question *question, struct opener *out)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)question->pid);
	n = readlink(path, out->exe, sizeof(out->exe) - 1);
	out->exe[n < 0 ? 0 : n] = '\0';
	out->has_library = question->library && has_library(question->pid);
}

static int serve_opener(void *data, const struct broker_message *in, struct broker_message *out,
			struct error *err)
{
	struct opener_question question;
	struct opener opener;

	(void)data;
	if (in->len != sizeof(question))
		return error_set(err, ERR_INVALID, "no process is named");
	memcpy(&question, in->bytes, sizeof(question));
	read_opener(&question, &opener);
	out->bytes[0] = opener.has_library ? 'l' : '-';
	snprintf(out->bytes + 1, sizeof(out->bytes) - 1, "%s", opener.exe);
	out->len = strlen(out->bytes);
	return 0;
}

const struct broker_duty watch_opens_duty = {serve_opener};

static void find_opener(const struct opener_question *question, struct opener *out)
{
	struct broker_message in = {.len = sizeof(*question)}, answer = {0};

	if (!broker_is_asked()) {
		read_opener(question, out);
		return;
	}
	memcpy(in.bytes, question, sizeof(*question));
	if (broker_ask(&watch_opens_duty, &in, &answer, NULL) < 0 || !answer.len)
		memcpy(answer.bytes, "-", sizeof("-"));
	out->has_library = answer.bytes[0] == 'l';
	snprintf(out->exe, sizeof(out->exe), "%.*s", PATH_MAX - 1, answer.bytes + 1);
}

/* The last part of the path by which fd was opened. The kernel says of a file that has lost its name
 * since, as a record does that is replaced, that it is deleted. */
static const char *name_file(int fd, char *out, size_t size)
{
	static const char deleted[] = " (deleted)";
	const size_t suffix = sizeof(deleted) - 1;
	char path[32];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, out, size - 1);
	out[n < 0 ? 0 : n] = '\0';
	if (n > (ssize_t)suffix && strcmp(out + n - suffix, deleted) == 0)
		out[n - (ssize_t)suffix] = '\0';
	slash = strrchr(out, '/');
	return slash ? slash + 1 : out;
}

static bool is_own_process(const struct watch_opens *watch, const char *exe)
{
	size_t len = strlen(watch->own);

	return strncmp(exe, watch->own, len) == 0 &&
	       strncmp(exe + len, "/microagent", strlen("/microagent")) == 0;
}

/* What our own commands read, and are done with before they can be looked at; and what our library
 * reads in a program of whoever uses it. No disk and no memory of a machine is among it. */
static bool is_record(const char *file)
{
	static const char *const names[] = {"lease", "serial.log", "supervisor.log", "audit.log",
					    "telemetry.jsonl"};
	const char *dot = strrchr(file, '.');

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(file, names[i]) == 0)
			return true;
	return dot && strcmp(dot, ".json") == 0;
}

static bool is_ours(const struct watch_opens *watch, const struct opener *opener, const char *file)
{
	if (*opener->exe && is_own_process(watch, opener->exe))
		return true;
	return (!*opener->exe || opener->has_library) && is_record(file);
}

static void take_open(struct watch_opens *watch, const struct fanotify_event_metadata *event)
{
	struct opener opener;
	char path[PATH_MAX];
	const char *file;
	json_t *what;

	if (event->pid == getpid())
		return;
	file = name_file(event->fd, path, sizeof(path));
	const struct opener_question question = {event->pid, is_record(file)};
	find_opener(&question, &opener);
	if (is_ours(watch, &opener, file) || !is_news(watch, opener.exe, file))
		return;
	what = json_pack("{s:o, s:I}", "file", json_string_lossy(file, strlen(file)), "pid",
			 (json_int_t)event->pid);
	if (*opener.exe)
		json_object_set_new(what, "exe", json_string_lossy(opener.exe, strlen(opener.exe)));
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
