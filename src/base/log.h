/* SPDX-License-Identifier: MIT */
/*
 * A log file that cannot grow without bound: lines are dropped above a byte cap (one line says so)
 * and above a rate for lines that a guest can cause. Not for library code: only the long-lived
 * programs own a log.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdint.h>

struct log {
	int fd;		     /* -1: everything is dropped */
	uint64_t written;    /* bytes so far */
	uint64_t cap;	     /* bytes; 0 means no cap */
	uint64_t window_ns;  /* start of the present second */
	unsigned in_window;  /* limited lines in it */
	unsigned suppressed; /* limited lines dropped and not yet told */
};
void log_init(struct log *log, int fd, uint64_t cap_bytes);
/* "2026-05-02T00:00:00.000Z text\n"; control bytes in the text are shown as '?'. */
void log_line(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for what a guest can provoke: at most 10 lines a second. */
void log_limited(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
