/* SPDX-License-Identifier: MIT */
/* What is said while a base is provisioned: to the caller, and to a file. */
#ifndef SESSION_PROVISION_LOG_H
#define SESSION_PROVISION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "microagent_session.h"

struct provision_log {
	const struct microagent_base_spec *spec; /* whom to tell */
	int fd;
	uint64_t written;
	struct buf rest[2];  /* of stdout and stderr: a line that has no end yet */
	char step[256];	     /* the latest heading of the script; "": none */
	struct error failed; /* of the file, the first one */
};

/* fd: borrowed, empty. */
void provision_log_init(struct provision_log *log, const struct microagent_base_spec *spec, int fd);
void provision_log_free(struct provision_log *log);

void provision_log_doing(struct provision_log *log, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Bytes of the script. 0, or -1 and log->failed: the log cannot be written. */
int provision_log_output(struct provision_log *log, enum microagent_output stream,
			 const void *bytes, size_t len);
/* The script has ended: what is left without newline is a line too. */
void provision_log_flush(struct provision_log *log);

#endif
