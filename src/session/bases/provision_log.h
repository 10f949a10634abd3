/* SPDX-License-Identifier: MIT */
/* The log of provisioning or warming a base. Its messages go to the caller and to a file. */
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
	provision_said_fn *said; /* NULL: only the file gets the messages */
	void *data;
	int fd;
	uint64_t written;
	struct buf
		rest[2]; /* for stdout and stderr: the last line, whose newline has not come yet */
	char step[256];	 /* the latest heading that the script has written; "": none */
	struct error failed; /* the first error of a write to the file */
};

/* Prepares a log. `fd` is an empty file, which the caller closes. */
void provision_log_init(struct provision_log *log, provision_said_fn *said, void *data, int fd);
void provision_log_free(struct provision_log *log);

void provision_log_doing(struct provision_log *log, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Logs output of the script. Returns 0, or -1 if the file cannot be written; log->failed has the
 * error then. */
int provision_log_output(struct provision_log *log, enum microagent_output stream,
			 const void *bytes, size_t len);
/* Logs the last output, which has no newline, as a line. Called when the script has ended. */
void provision_log_flush(struct provision_log *log);
/* Keeps the log after a failure. If the log has any message, its file dir/name is moved to
 * <state>/logs/base-NAME-TIME.log, and *err names this path. `nothing` says that the base or
 * template was not made, and is added to *err too. */
void provision_log_keep(const struct provision_log *log, const struct microagent *agent, int dir,
			const char *name, const char *base, const char *nothing, struct error *err);

#endif
