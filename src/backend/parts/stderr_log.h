/* SPDX-License-Identifier: MIT */
/* What a child writes to its stderr, line by line into the supervisor's log, rate-limited since a
 * guest can provoke it; the last line is kept, to tell why the child ended. */
#ifndef BACKEND_PARTS_STDERR_LOG_H
#define BACKEND_PARTS_STDERR_LOG_H

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"

#define STDERR_LINE 400

struct stderr_log {
	struct loop_watch *watch;
	struct log *log;  /* may be NULL */
	const char *name; /* of the child */
	int fd;
	size_t len;
	char line[STDERR_LINE]; /* the present one, longer ones are cut into pieces */
	char last[STDERR_LINE]; /* the last whole one; "" */
};

/* Makes a pipe; *write_end is for the child. s must stay where it is. */
int stderr_log_open(struct stderr_log *s, struct loop *loop, const char *name, struct log *log,
		    int *write_end, struct error *err);
/* The same of a descriptor that does not block, which becomes the log's own. */
int stderr_log_adopt(struct stderr_log *s, struct loop *loop, const char *name, struct log *log,
		     int fd, struct error *err);
/* Bytes that came another way. */
void stderr_log_take(struct stderr_log *s, const char *bytes, size_t n);
/* Reads what is there now. */
void stderr_log_drain(struct stderr_log *s);
/* Accepts one whose fd is -1. */
void stderr_log_close(struct stderr_log *s);

#endif
