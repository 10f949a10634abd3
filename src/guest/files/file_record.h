/* SPDX-License-Identifier: MIT */
/*
 * A record of bytes for each file, which the process that looks at files sends to the agent. The
 * process belongs to the requesting user, who may have replaced it, so the agent reads records like
 * any bytes from outside. The functions are pure.
 *
 *   length of the name (2 bytes), size (8), st_mode (4), modification time in seconds (8), name
 *
 * All numbers are big-endian. A name of no bytes, with nothing after it, says that there are more
 * files than were told.
 */
#ifndef GUEST_FILE_RECORD_H
#define GUEST_FILE_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"

struct file_record {
	const uint8_t *name; /* borrowed; len bytes, without a NUL after them */
	uint16_t len;	     /* 0: there are more files than were told */
	uint64_t size;
	uint32_t mode; /* st_mode */
	int64_t modified;
};

/* Appends a record. name has 1 to UINT16_MAX bytes. */
int file_record_put(struct buf *to, const char *name, const struct stat *st, struct error *err);
int file_record_put_more(struct buf *to, struct error *err);
/* Takes the first record from the *left bytes at *bytes, and advances both. Returns 1 and sets
 * *out; 0 if there is no complete record. */
int file_record_take(const uint8_t **bytes, size_t *left, struct file_record *out);

/* Converts st_mode to Go's fs.FileMode: permissions in the low nine bits, kinds from bit 31
 * down. */
uint32_t file_mode_of_go(uint32_t mode);
#define GO_MODE_DIR (1u << 31)

#endif
