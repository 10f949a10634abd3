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
/* The greatest number of reads in one call of watch_opens_look(). Without this limit, a process
 * that opens files without end could stop the loop. */
#define LOOKS_MAX 8

struct watch_opens {
	struct loop_watch *watch;
	int fd;
	char *own; /* the directory of microagent's programs */
	watch_opens_fn *fn;
	void *data;
	uint64_t told[TOLD_MAX]; /* the hashes of the pairs of a program and a file that were
				  * already reported */
	size_t told_count;
};

static uint64_t mix_name(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 1099511628211u;
	return hash * 1099511628211u;
}

/* Returns true for a pair of a program and a file that was not seen before. After TOLD_MAX pairs,
 * always returns false. */
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

/* One opening of a file, and the process that has opened it. */
struct opening {
	pid_t pid;
	char file[NAME_MAX + 1]; /* the last component of the file's path */
	char exe[PATH_MAX];	 /* the path of the program; "": the process has exited */
	/* The program has mapped libmicroagent. The mappings are examined only if the file is a
	 * record, since all mappings of the process must be read for it. */
	bool has_library;
};

/* The number of openings that fit into an answer of the broker. */
#define OPENINGS_MAX (BROKER_BYTES / sizeof(struct opening))

/* A part of the path in a mapping of microagent's library, whatever its version. */
#define LIBRARY "/libmicroagent.so"
#define MAPS_MAX (4u << 20) /* the greatest number of bytes of a list of mappings */

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

/* Writes the last component of the path by which `fd` was opened. If the file has no path any more,
 * for example because a new record has replaced it, the kernel appends " (deleted)" to the path.
 * Removes this suffix. */
static void name_file(int fd, char out[NAME_MAX + 1])
{
	static const char deleted[] = " (deleted)";
	const size_t suffix = sizeof(deleted) - 1;
	char link[32], path[PATH_MAX];
	const char *slash;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	if (n > (ssize_t)suffix && strcmp(path + n - suffix, deleted) == 0)
		path[n - (ssize_t)suffix] = '\0';
	slash = strrchr(path, '/');
	snprintf(out, NAME_MAX + 1, "%.*s", NAME_MAX, slash ? slash + 1 : path);
}

/* Returns true if the file is a record. Commands of microagent read records, and often exit before
 * their program can be determined. Programs that use microagent's library read records too. The
 * disks and the memory of a machine are not records. */
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

static void read_opening(const struct fanotify_event_metadata *event, struct opening *out)
{
	char path[32];
	ssize_t n;

	memset(out, 0, sizeof(*out));
	out->pid = event->pid;
	name_file(event->fd, out->file);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)event->pid);
	n = readlink(path, out->exe, sizeof(out->exe) - 1);
	out->exe[n < 0 ? 0 : n] = '\0';
	out->has_library = is_record(out->file) && has_library(event->pid);
}

/* Reads the next events of the kernel into `out`. Leaves out files that were opened by this
 * process, or by the process that asks this broker (broker_asker()). Returns the number of openings
 * in `out`. */
static size_t read_openings(int fd, struct opening out[OPENINGS_MAX])
{
	struct fanotify_event_metadata buffer[OPENINGS_MAX];
	struct fanotify_event_metadata *event = buffer; /* not const, since the macros change it */
	ssize_t left = read(fd, buffer, sizeof(buffer));
	size_t count = 0;

	for (; FAN_EVENT_OK(event, left); event = FAN_EVENT_NEXT(event, left)) {
		if (event->fd < 0)
			continue;
		if (event->pid != getpid() && event->pid != broker_asker())
			read_opening(event, &out[count++]);
		close(event->fd);
	}
	return count;
}

/* --- by the broker ---------------------------------------------------------------------------- */

static int serve_openings(void *data, const struct broker_message *in, struct broker_message *out,
			  struct error *err)
{
	static struct opening openings[OPENINGS_MAX];
	const struct watch_opens *watch = data;

	if (!watch || in->len)
		return error_set(
			err, ERR_DENIED,
			"the broker refuses a request about openings of files, because it is malformed or the machine's files are not watched: this is a bug, or the live supervisor was taken over");
	out->len = read_openings(watch->fd, openings) * sizeof(openings[0]);
	memcpy(out->bytes, openings, out->len);
	return 0;
}

const struct broker_duty watch_opens_duty = {serve_openings};

int watch_opens_fd(const struct watch_opens *watch)
{
	return watch->fd;
}

static size_t take_openings(const struct watch_opens *watch, struct opening out[OPENINGS_MAX])
{
	static const struct broker_message nothing;
	static struct broker_message answer;
	struct error ignored;

	if (!broker_is_asked())
		return read_openings(watch->fd, out);
	if (broker_ask(&watch_opens_duty, &nothing, &answer, &ignored) < 0)
		return 0;
	memcpy(out, answer.bytes, answer.len);
	return answer.len / sizeof(*out);
}

/* --- reporting openings ---------------------------------------------------------------------- */

static bool is_own_process(const struct watch_opens *watch, const char *exe)
{
	size_t len = strlen(watch->own);

	return strncmp(exe, watch->own, len) == 0 &&
	       strncmp(exe + len, "/microagent", strlen("/microagent")) == 0;
}

static bool is_ours(const struct watch_opens *watch, const struct opening *opening)
{
	if (*opening->exe && is_own_process(watch, opening->exe))
		return true;
	return (!*opening->exe || opening->has_library) && is_record(opening->file);
}

static void tell_opening(struct watch_opens *watch, const struct opening *opening)
{
	const char *file = opening->file, *exe = opening->exe;
	json_t *what;

	if (is_ours(watch, opening) || !is_news(watch, exe, file))
		return;
	what = json_pack("{s:o, s:I}", "file", json_string_lossy(file, strlen(file)), "pid",
			 (json_int_t)opening->pid);
	if (*exe)
		json_object_set_new(what, "exe", json_string_lossy(exe, strlen(exe)));
	if (watch->told_count == TOLD_MAX)
		json_object_set_new(what, "moreAreNotTold", json_true());
	watch->fn(watch->data, what);
}

/* Reads the next openings, and reports each pair of a program and a file that was not reported
 * before. Returns the number of openings. */
static size_t tell_openings(struct watch_opens *watch)
{
	static struct opening openings[OPENINGS_MAX];
	size_t count = take_openings(watch, openings);

	for (size_t i = 0; i < count; i++)
		tell_opening(watch, &openings[i]);
	return count;
}

static void on_events(struct loop *loop, int fd, uint32_t events, void *data)
{
	(void)loop;
	(void)fd;
	(void)events;
	(void)tell_openings(data);
}

void watch_opens_look(struct watch_opens *watch)
{
	for (size_t i = 0; watch && i < LOOKS_MAX; i++)
		if (tell_openings(watch) == 0)
			return;
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
