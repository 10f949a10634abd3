/* SPDX-License-Identifier: MIT */
/*
 * The record of a file, as bytes, which a process that looks at files sends to the agent. This
 * process runs as the user of the request and may have been taken over by that user, so the agent
 * does not trust the records. The functions are pure.
 *
 *   length of the name (2 bytes), size (8), st_mode (4), modification time in seconds (8), name
 *
 * All numbers are big-endian. A length of 0, with nothing after it, says that there are more files
 * than records.
 */
#ifndef GUEST_FILE_RECORD_H
#define GUEST_FILE_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"

struct file_record {
	const uint8_t *name; /* len bytes of the input, without a NUL at the end */
	uint16_t len;	     /* 0: this record only says that there are more files than records */
	uint64_t size;
	uint32_t mode; /* st_mode */
	int64_t modified;
};

/* Appends a record. `name` has 1 to UINT16_MAX bytes. */
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
