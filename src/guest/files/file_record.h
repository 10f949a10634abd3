/* SPDX-License-Identifier: MIT */
/*
 * What the process that looks at files tells the agent of each: a record of bytes. The process is
 * the requesting user's, who may have put anything in its place, so the agent reads it as it reads
 * anything from outside. Pure.
 *
 *   length of the name (2 bytes), size (8), st_mode (4), modification time in seconds (8), name
 *
 * all big-endian. A name of no bytes, with nothing behind it, says that there is more than was
 * told.
 */
#ifndef GUEST_FILE_RECORD_H
#define GUEST_FILE_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"

struct file_record {
	const uint8_t *name; /* borrowed; len bytes, no NUL behind them */
	uint16_t len;	     /* 0: there is more than was told */
	uint64_t size;
	uint32_t mode; /* st_mode */
	int64_t modified;
};

/* name: 1 to UINT16_MAX bytes. */
int file_record_put(struct buf *to, const char *name, const struct stat *st, struct error *err);
int file_record_put_more(struct buf *to, struct error *err);
/* Takes the first record off what is at *bytes, *left long. 1: *out is it; 0: no whole one is
 * there. */
int file_record_take(const uint8_t **bytes, size_t *left, struct file_record *out);

/* st_mode as Go's fs.FileMode has it: permissions in the low nine bits, kinds from bit 31 down. */
uint32_t file_mode_of_go(uint32_t mode);
#define GO_MODE_DIR (1u << 31)

#endif
