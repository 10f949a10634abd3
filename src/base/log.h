/* SPDX-License-Identifier: MIT */
/*
 * A log file with a largest size. When the file would become larger, the log begins an empty file,
 * so that there is always room for a new line. The old file is kept in the same directory if
 * log_keep_last() was called. Lines that a guest can cause are limited to a fixed number per
 * second. Only programs that run for a long time have a log; the library does not log.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdint.h>

struct log {
	int fd;		     /* the log file; -1: all lines are dropped */
	int dir;	     /* the descriptor of the file's directory, which the caller closes; -1:
			      * the old file is not kept */
	const char *name;    /* the name of the file in `dir`; the string belongs to the caller */
	uint64_t written;    /* the number of bytes in the file */
	uint64_t cap;	     /* the largest size of the file in bytes; 0: no limit */
	uint64_t window_ns;  /* the monotonic time, in ns, at which the second began in which lines
			      * are counted */
	unsigned in_window;  /* the number of lines that log_limited() has written in this second */
	unsigned suppressed; /* the number of lines of log_limited() that were dropped and not yet
			      * reported */
};
/* Begins a log on `fd`. If `cap_bytes` is not 0, `fd` must be a file that is open with O_APPEND. */
void log_init(struct log *log, int fd, uint64_t cap_bytes);
/* Makes the log keep its old file. When the file reaches its largest size, <dir>/<name> is renamed
 * to <name>.1, and fd becomes a new file <dir>/<name>. */
void log_keep_last(struct log *log, int dir, const char *name);
/* Writes "2026-05-02T00:00:00.000Z text\n". Characters that must not reach a terminal
 * (print_safe.h) are replaced by '?'. */
void log_line(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes a line like log_line(), about an event that a guest can cause. At most 10 such lines are
 * written in a second; a later line has the number of dropped lines. */
void log_limited(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
