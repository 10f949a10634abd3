/* SPDX-License-Identifier: MIT */
/*
 * A log file that has a size limit and still accepts every new line: at a number of bytes it begins
 * anew, and the old file is kept beside it if log_keep_last() was called. Lines that a guest can
 * cause are dropped above a rate. Library code has no log: only the long-lived programs do.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdint.h>

struct log {
	int fd;		     /* -1: all lines are dropped */
	int dir;	     /* borrowed; -1: the old file is not kept */
	const char *name;    /* borrowed; the name of the file in dir */
	uint64_t written;    /* bytes so far */
	uint64_t cap;	     /* bytes; 0 means no cap */
	uint64_t window_ns;  /* start of the present second */
	unsigned in_window;  /* limited lines in this second */
	unsigned suppressed; /* limited lines that were dropped and not yet reported */
};
/* Begins a log. fd is open with O_APPEND, for a file with a cap. */
void log_init(struct log *log, int fd, uint64_t cap_bytes);
/* Makes the log keep its old file: at the cap <dir>/<name> becomes <name>.1, and fd a new file. */
void log_keep_last(struct log *log, int dir, const char *name);
/* Writes "2026-05-02T00:00:00.000Z text\n". Characters that must not reach a terminal
 * (print_safe.h) become '?'. */
void log_line(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes such a line about something that a guest can cause: at most 10 lines a second. */
void log_limited(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
