/* SPDX-License-Identifier: MIT */
/* Copies the lines that a child writes to its stderr into the supervisor's log. The rate is
 * limited, since a guest can cause such lines. The last line is kept, since it often has the reason
 * why the child has ended. */
#ifndef BACKEND_PARTS_STDERR_LOG_H
#define BACKEND_PARTS_STDERR_LOG_H

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"

#define STDERR_LINE 400

struct stderr_log {
	struct loop_watch *watch;
	struct log *log;  /* the supervisor's log; NULL: lines are not logged */
	const char *name; /* the child's name, for the log */
	int fd;
	size_t len;
	/* The beginning of a line that is not complete yet. A line that is too long is logged as
	 * several lines. */
	char line[STDERR_LINE];
	char last[STDERR_LINE]; /* the last complete line; "": there is none */
};

/* Makes a pipe, and begins to copy lines from it to `log`. *write_end becomes the child's end of
 * the pipe, which the caller closes. *s must not be moved in memory. */
int stderr_log_open(struct stderr_log *s, struct loop *loop, const char *name, struct log *log,
		    int *write_end, struct error *err);
/* Works like stderr_log_open(), but reads from `fd`, which is non-blocking. Takes over `fd`. */
int stderr_log_adopt(struct stderr_log *s, struct loop *loop, const char *name, struct log *log,
		     int fd, struct error *err);
/* Logs bytes that the child has written and that the caller has read. */
void stderr_log_take(struct stderr_log *s, const char *bytes, size_t n);
/* Reads and logs all bytes that are in the pipe. */
void stderr_log_drain(struct stderr_log *s);
/* Closes the pipe and the log. Accepts a struct whose fd is -1. */
void stderr_log_close(struct stderr_log *s);

#endif
