/* SPDX-License-Identifier: MIT */
/* Copies the lines that a child writes to its stderr into the supervisor's log. The rate is
 * limited, since a guest can provoke lines. The last line is kept, since it often says why the
 * child has ended. */
#ifndef BACKEND_PARTS_STDERR_LOG_H
#define BACKEND_PARTS_STDERR_LOG_H

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"

#define STDERR_LINE 400

struct stderr_log {
	struct loop_watch *watch;
	struct log *log;  /* may be NULL */
	const char *name; /* the child's name */
	int fd;
	size_t len;
	/* The beginning of a line whose end has not come; longer lines are cut into pieces. */
	char line[STDERR_LINE];
	char last[STDERR_LINE]; /* the last whole line; "": none */
};

/* Makes a pipe, and begins to copy from it to `log`. *write_end is the end for the child, which the
 * caller closes. *s must not be moved in memory. */
int stderr_log_open(struct stderr_log *s, struct loop *loop, const char *name, struct log *log,
		    int *write_end, struct error *err);
/* Works like stderr_log_open(), but reads from `fd`, which is non-blocking, and takes it over. */
int stderr_log_adopt(struct stderr_log *s, struct loop *loop, const char *name, struct log *log,
		     int fd, struct error *err);
/* Takes bytes that the child has written and the caller has read. */
void stderr_log_take(struct stderr_log *s, const char *bytes, size_t n);
/* Reads and logs all bytes that have come. */
void stderr_log_drain(struct stderr_log *s);
/* Closes the log. Accepts a log whose fd is -1. */
void stderr_log_close(struct stderr_log *s);

#endif
