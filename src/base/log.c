/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/platform/descriptor.h"
#include "base/print_safe.h"

#define LINE_BYTES 2048
#define LIMITED_PER_SECOND 10

void log_init(struct log *log, int fd, uint64_t cap_bytes)
{
	struct stat st;

	*log = (struct log){.fd = fd, .dir = -1, .cap = cap_bytes};
	/* The file may have contents already, which count towards the cap. */
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		log->written = (uint64_t)st.st_size;
}

void log_keep_last(struct log *log, int dir, const char *name)
{
	log->dir = dir;
	log->name = name;
}

/* Renames the file to <name>.1, and makes a new, empty file, to which the descriptor log->fd refers
 * from now on. Returns false if log_keep_last() was not called, or if the old file cannot be
 * kept. */
static bool begin_next_file(struct log *log)
{
	char last[NAME_MAX];
	autoclose int next = -1;

	if (log->dir < 0)
		return false;
	snprintf(last, sizeof(last), "%s.1", log->name);
	if (renameat(log->dir, log->name, log->dir, last) < 0)
		return false;
	next = openat(log->dir, log->name,
		      O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (next < 0) {
		(void)renameat(log->dir, last, log->dir, log->name);
		return false;
	}
	/* The descriptor keeps its present close-on-exec flag. */
	return descriptor_replace(next, log->fd, fcntl(log->fd, F_GETFD) & FD_CLOEXEC) >= 0;
}

static void put_log_text(struct log *log, const char *text)
{
	char line[CLOCK_TEXT + LINE_BYTES + 1];
	char when[CLOCK_TEXT];
	ssize_t done;
	int n;

	/* If the old file cannot be kept, it is emptied, since the log must accept every new
	 * line. */
	if (log->cap && log->written + CLOCK_TEXT + strlen(text) + 1 > log->cap) {
		if (!begin_next_file(log) && ftruncate(log->fd, 0) < 0)
			return;
		log->written = 0;
	}
	clock_rfc3339(clock_real_ns(), when);
	n = snprintf(line, sizeof(line), "%s %s\n", when, text);
	if (n < 0 || (size_t)n >= sizeof(line))
		return;
	do
		done = write(log->fd, line, (size_t)n);
	while (done < 0 && errno == EINTR);
	if (done > 0)
		log->written += (uint64_t)done;
}

/* If the second in which lines are counted is over, writes how many lines were dropped in that
 * second, and begins to count anew. */
static void advance_window(struct log *log)
{
	uint64_t now = clock_mono_ns();
	char text[64];

	if (log->window_ns && now - log->window_ns < NS_PER_S)
		return;
	log->window_ns = now ? now : 1;
	log->in_window = 0;
	if (!log->suppressed)
		return;
	snprintf(text, sizeof(text), "%u lines were dropped: too many came in one second",
		 log->suppressed);
	log->suppressed = 0;
	put_log_text(log, text);
}

static void log_args(struct log *log, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
static void log_args(struct log *log, const char *fmt, va_list args)
{
	char text[LINE_BYTES];

	if (vsnprintf(text, sizeof(text), fmt, args) < 0)
		return;
	make_safe(text);
	put_log_text(log, text);
}

void log_line(struct log *log, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	if (log->fd < 0)
		return;
	advance_window(log);
	va_start(args, fmt);
	log_args(log, fmt, args);
	va_end(args);
	errno = saved;
}

void log_limited(struct log *log, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	if (log->fd < 0)
		return;
	advance_window(log);
	if (log->in_window >= LIMITED_PER_SECOND) {
		log->suppressed++;
		return;
	}
	log->in_window++;
	va_start(args, fmt);
	log_args(log, fmt, args);
	va_end(args);
	errno = saved;
}
