/* SPDX-License-Identifier: MIT */
/* The messages while a base is provisioned or warmed. They go to the caller and to a file. */
#ifndef SESSION_PROVISION_LOG_H
#define SESSION_PROVISION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "base/buf.h"
#include "microagent_session.h"

/* Receives a line for the caller. */
typedef void provision_said_fn(void *data, enum microagent_base_line kind, const char *text);

struct provision_log {
	provision_said_fn *said; /* NULL: nobody */
	void *data;
	int fd;
	uint64_t written;
	struct buf rest[2];  /* for stdout and stderr: a line without its end so far */
	char step[256];	     /* the latest heading of the script; "": none */
	struct error failed; /* the first error of the file */
};

/* Prepares a log. fd is borrowed, and its file is empty. */
void provision_log_init(struct provision_log *log, provision_said_fn *said, void *data, int fd);
void provision_log_free(struct provision_log *log);

void provision_log_doing(struct provision_log *log, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Logs output of the script. Returns 0; -1 with log->failed if the log cannot be written. */
int provision_log_output(struct provision_log *log, enum microagent_output stream,
			 const void *bytes, size_t len);
/* Logs the rest of the output without a newline as a line, when the script has ended. */
void provision_log_flush(struct provision_log *log);
/* Keeps the log after a failure. If it has any message, dir/name becomes
 * <state>/logs/base-NAME-TIME.log, and the error says so. The error also says what was not made. */
void provision_log_keep(const struct provision_log *log, const struct microagent *agent, int dir,
			const char *name, const char *base, const char *nothing, struct error *err);

#endif
