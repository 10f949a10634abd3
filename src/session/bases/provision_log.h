/* SPDX-License-Identifier: MIT */
/* What is said while a base is provisioned, or warmed: to the caller, and to a file. */
#ifndef SESSION_PROVISION_LOG_H
#define SESSION_PROVISION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "base/buf.h"
#include "microagent_session.h"

/* Whom to tell. */
typedef void provision_said_fn(void *data, enum microagent_base_line kind, const char *text);

struct provision_log {
	provision_said_fn *said; /* NULL: nobody */
	void *data;
	int fd;
	uint64_t written;
	struct buf rest[2];  /* of stdout and stderr: a line that has no end yet */
	char step[256];	     /* the latest heading of the script; "": none */
	struct error failed; /* of the file, the first one */
};

/* fd: borrowed, empty. */
void provision_log_init(struct provision_log *log, provision_said_fn *said, void *data, int fd);
void provision_log_free(struct provision_log *log);

void provision_log_doing(struct provision_log *log, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Bytes of the script. 0, or -1 and log->failed: the log cannot be written. */
int provision_log_output(struct provision_log *log, enum microagent_output stream,
			 const void *bytes, size_t len);
/* The script has ended: what is left without newline is a line too. */
void provision_log_flush(struct provision_log *log);
/* After a failure: where anything was said, dir/name becomes <state>/logs/base-NAME-TIME.log, and
 * the error says so, and what did not come about of it. */
void provision_log_keep(const struct provision_log *log, const struct microagent *agent, int dir,
			const char *name, const char *base, const char *nothing, struct error *err);

#endif
