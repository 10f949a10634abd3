/* SPDX-License-Identifier: MIT */
/* Writes the log of provisioning or warming a base. The caller and a file get its messages. */
#ifndef SESSION_PROVISION_LOG_H
#define SESSION_PROVISION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "base/buf.h"
#include "microagent_session.h"

/* Gets a line of the log for the caller. */
typedef void provision_said_fn(void *data, enum microagent_base_line kind, const char *text);

struct provision_log {
	provision_said_fn *said; /* gets each message for the caller; NULL: only the file gets the
				  * messages */
	void *data;
	int fd;
	uint64_t written;
	struct buf rest[2]; /* last line of stdout and of stderr, if its newline has not come yet */
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
 * <state>/logs/base-NAME-TIME.log, and this path is added to *err. `nothing` is a text that the
 * base or template was not made, which is also added to *err. */
void provision_log_keep(const struct provision_log *log, const struct microagent *agent, int dir,
			const char *name, const char *base, const char *nothing, struct error *err);

#endif
