/* SPDX-License-Identifier: MIT */
/* The log of provisioning or warming a base. Each message is passed to a function of the caller,
 * and is written to a file. */
#ifndef SESSION_PROVISION_LOG_H
#define SESSION_PROVISION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "base/buf.h"
#include "microagent_session.h"

/* A function of the caller that gets each line of the log. */
typedef void provision_said_fn(void *data, enum microagent_base_line kind, const char *text);

struct provision_log {
	provision_said_fn *said; /* gets each message; NULL: the messages are written only to the
				  * file */
	void *data;
	int fd;
	uint64_t written;
	struct buf rest[2]; /* the last, incomplete line of stdout and of stderr: bytes whose
			     * newline has not come yet */
	char step[256]; /* the latest heading that the script has written; "" if there is none */
	struct error failed; /* the first error in writing to the file */
};

/* Prepares a log. `fd` is the descriptor of an empty file, which the caller closes. */
void provision_log_init(struct provision_log *log, provision_said_fn *said, void *data, int fd);
void provision_log_free(struct provision_log *log);

void provision_log_doing(struct provision_log *log, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Logs output of the script. Returns 0, or -1 if the file cannot be written; the error is then in
 * log->failed. */
int provision_log_output(struct provision_log *log, enum microagent_output stream,
			 const void *bytes, size_t len);
/* Logs the last output of a stream as a line, although it has no newline. Called when the script
 * has ended. */
void provision_log_flush(struct provision_log *log);
/* Keeps the log after a failure. If the log has any message, its file dir/name is moved to
 * <state>/logs/base-NAME-TIME.log, and this path is added to *err. The text `nothing`, such as "the
 * base was not made", is also added to *err. */
void provision_log_keep(const struct provision_log *log, const struct microagent *agent, int dir,
			const char *name, const char *base, const char *nothing, struct error *err);

#endif
