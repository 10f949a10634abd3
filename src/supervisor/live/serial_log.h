/* SPDX-License-Identifier: MIT */
/*
 * Writes serial.log: the output of the guest's serial console in all boots since prepare, up to a
 * cap. When the file has reached the cap, the older half of its bytes is dropped within the same
 * file, which needs no room on the host's disk. A program that follows the file sees that the file
 * got shorter, and must then read it again from its beginning.
 */
#ifndef SUPERVISOR_SERIAL_LOG_H
#define SUPERVISOR_SERIAL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct serial_log {
	int fd;	       /* the descriptor of the file; -1: nothing is written */
	uint64_t size; /* the number of bytes in the file */
	uint64_t cap;  /* the greatest number of bytes that the file may have */
	uint64_t boot; /* the offset at which the output of the present boot begins */
	uint64_t lost; /* the number of bytes that were lost because the host's disk had no room */
};

/* Opens the file `name` in `dirfd`. Makes the file, with mode 0600, if it is missing. The output of
 * the present boot will begin at the present end of the file. */
int serial_log_open(struct serial_log *log, int dirfd, const char *name, uint64_t cap_bytes,
		    struct error *err);
void serial_log_close(struct serial_log *log);
/* Appends the bytes to the log. Never fails: if the host's disk has no room, the bytes are lost and
 * counted in `lost`. */
void serial_log_write(struct serial_log *log, const void *data, size_t len);
/* Writes the last lines of the present boot to `out`, as one line: joined by " | ", with '?' for
 * each unprintable byte, and with the line of a kernel panic first. Writes "" if the guest wrote no
 * lines other than empty and harmless ones. `out` always ends with NUL. */
void serial_log_tail(const struct serial_log *log, char *out, size_t out_size);
/* Returns true if the guest has written to its serial console in the present boot. */
bool serial_log_was_written(const struct serial_log *log);

#endif
