/* SPDX-License-Identifier: MIT */
/*
 * The record that describes a file, as bytes. A process that looks at files sends such records to
 * the agent. This process runs as the user of the request, and that user may have taken it over. So
 * the agent does not trust the records. The functions are pure. A record has these fields:
 *
 *   length of the name (2 bytes), size (8), st_mode (4), modification time in seconds (8), name
 *
 * All numbers are big-endian. A record that is only a length of 0 means that there are more files
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
	/* The name, which has `len` bytes, lies in the input, and has no NUL at its end. */
	const uint8_t *name;
	/* Length of the name; 0: this record only says that there are more files than records. */
	uint16_t len;
	uint64_t size;
	uint32_t mode; /* the file's st_mode */
	int64_t modified;
};

/* Appends a record. The length of `name` must be 1 to UINT16_MAX bytes. */
int file_record_put(struct buf *to, const char *name, const struct stat *st, struct error *err);
int file_record_put_more(struct buf *to, struct error *err);
/* Takes the first record from the *left bytes at *bytes, and advances both. Returns 1 and sets *out
 * if there is a complete record, else 0. */
int file_record_take(const uint8_t **bytes, size_t *left, struct file_record *out);

/* Converts st_mode to a value of Go's fs.FileMode. This type has the permissions in its low nine
 * bits, and the kind of the file in the bits from 31 down. */
uint32_t file_mode_of_go(uint32_t mode);
#define GO_MODE_DIR (1u << 31)

#endif
