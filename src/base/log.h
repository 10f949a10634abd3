/* SPDX-License-Identifier: MIT */
/*
 * A log file that cannot grow without bound, and never goes dumb: at a byte cap it begins anew, the
 * last one is kept beside it where log_keep_last() says so; lines that a guest can cause are
 * dropped above a rate. Not for library code: only the long-lived programs own a log.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdint.h>

struct log {
	int fd;		     /* -1: everything is dropped */
	int dir;	     /* borrowed; -1: the last file is not kept */
	const char *name;    /* borrowed: of the file in it */
	uint64_t written;    /* bytes so far */
	uint64_t cap;	     /* bytes; 0 means no cap */
	uint64_t window_ns;  /* start of the present second */
	unsigned in_window;  /* limited lines in it */
	unsigned suppressed; /* limited lines dropped and not yet told */
};
/* fd was opened with O_APPEND, for a file with a cap. */
void log_init(struct log *log, int fd, uint64_t cap_bytes);
/* At the cap <dir>/<name> becomes <name>.1, and fd a new file. */
void log_keep_last(struct log *log, int dir, const char *name);
/* "2026-05-02T00:00:00.000Z text\n"; what is for no terminal (print_safe.h) is shown as
 * '?'. */
void log_line(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for what a guest can provoke: at most 10 lines a second. */
void log_limited(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
