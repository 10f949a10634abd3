/* SPDX-License-Identifier: MIT */
/*
 * Writes serial.log: the output of the guest's serial console over all boots since prepare, up to a
 * cap. Above the cap the oldest half is dropped in place, so that no room on the disk is needed. A
 * reader that follows the file sees it get shorter and begins anew.
 */
#ifndef SUPERVISOR_SERIAL_LOG_H
#define SUPERVISOR_SERIAL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct serial_log {
	int fd;	       /* -1: nothing is written */
	uint64_t size; /* size of the file */
	uint64_t cap;  /* bytes */
	uint64_t boot; /* where the present boot's part begins */
	uint64_t lost; /* bytes that found no room on the disk */
};

/* Opens or makes <dirfd>/<name>, 0600. The present boot's part begins at the end of the file. */
int serial_log_open(struct serial_log *log, int dirfd, const char *name, uint64_t cap_bytes,
		    struct error *err);
void serial_log_close(struct serial_log *log);
/* Appends the bytes. Never fails: bytes that the disk has no room for are counted in `lost`. */
void serial_log_write(struct serial_log *log, const void *data, size_t len);
/* Writes the last lines of the present boot in one line, joined by " | ", unprintable bytes as '?',
 * a panic's line first. Writes "" if the guest said nothing that could help a reader. out is always
 * NUL-terminated. */
void serial_log_tail(const struct serial_log *log, char *out, size_t out_size);
/* Returns whether the guest has written anything in the present boot. */
bool serial_log_was_written(const struct serial_log *log);

#endif
