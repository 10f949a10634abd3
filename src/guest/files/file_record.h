/* SPDX-License-Identifier: MIT */
/*
 * The record that describes a file, as bytes. A process that looks at files sends such records to
 * the agent. The process runs with the rights of the request's user, who may have manipulated it.
 * So the agent does not trust the records. The functions are pure. A record has these fields:
 *
 *   length of the name (2 bytes), size (8), st_mode (4), modification time in seconds (8), name
 *
 * All numbers are big-endian. If there are more files than records, the last record has only the
 * first field, with the value 0.
 */
#ifndef GUEST_FILE_RECORD_H
#define GUEST_FILE_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"

struct file_record {
	/* The file's name, which points into the input, has `len` bytes, and has no NUL at its
	 * end. */
	const uint8_t *name;
	/* Length of the name in bytes. 0: this record only says that there are more files than
	 * records. */
	uint16_t len;
	uint64_t size;
	uint32_t mode; /* the file's st_mode */
	int64_t modified;
};

/* Appends a record. The length of `name` must be 1 to UINT16_MAX bytes. */
int file_record_put(struct buf *to, const char *name, const struct stat *st, struct error *err);
int file_record_put_more(struct buf *to, struct error *err);
/* Decodes the first record of the *left bytes at *bytes, and advances *bytes and *left behind it.
 * Returns 1 with *out set, or 0 if there is no complete record. */
int file_record_take(const uint8_t **bytes, size_t *left, struct file_record *out);

/* Converts st_mode to a value of Go's type fs.FileMode. Such a value has the permissions in bits 0
 * to 8, and the type of the file in bits from 31 down. */
uint32_t file_mode_of_go(uint32_t mode);
#define GO_MODE_DIR (1u << 31)

#endif
