/* SPDX-License-Identifier: MIT */
/*
 * Reads bytes from outside, which may be compressed, with libarchive. The bytes are read from the
 * current position of a descriptor, and the caller says how many. Only compressions are allowed
 * that libarchive unpacks by itself. For any other compression, libarchive would run a program from
 * PATH (archive_read_filter(3)).
 */
#ifndef ARTIFACT_PACKED_H
#define ARTIFACT_PACKED_H

#include <archive.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum packing {
	PACKING_GZIP = 1 << 0,
	PACKING_BZIP2 = 1 << 1,
	PACKING_XZ = 1 << 2,
	PACKING_ZSTD = 1 << 3,
	PACKING_LZMA = 1 << 4,
	PACKING_LZ4 = 1 << 5,
};
/* The compressions that are usual for exchanged archives. */
#define PACKINGS_OF_ARCHIVES (PACKING_GZIP | PACKING_BZIP2 | PACKING_XZ | PACKING_ZSTD)

struct packed {
	int fd;	       /* descriptor of the bytes; the caller closes it */
	uint64_t left; /* number of bytes that may still be read */
	char *block;
	bool ended; /* libarchive asked for more bytes after all bytes had been read */
	int errnum; /* errno of a failed read of `fd`; 0: no read has failed */
};

/* Starts reading from `fd`. `left` is the largest number of bytes to read; UINT64_MAX: all bytes
 * until the end of the file. */
int packed_begin(struct packed *packed, int fd, uint64_t left, struct error *err);
void packed_end(struct packed *packed); /* accepts a zeroed one */

/* Allows the compressions in `packings`. ERR_UNSUPPORTED: libarchive was built without one of
 * them. */
int packed_support(struct archive *archive, unsigned packings, struct error *err);
/* Opens `archive` for reading the bytes of `packed`. The caller must have set the formats of
 * `archive`. Returns the result of libarchive. */
int packed_open(struct packed *packed, struct archive *archive);

/* Sets *out to a handle of libarchive, with which archive_read_data_block() reads the unpacked
 * bytes. Returns 0, ARCHIVE_EOF if there are no bytes at all, or another result of libarchive. If
 * the result is not 0, the message is in *out, or *out is NULL and err is set. The caller frees
 * *out in all cases. */
int packed_unpack(struct packed *packed, unsigned packings, struct archive **out,
		  struct error *err);

/* Writes `len` unpacked bytes to the file `fd` at the offset `at`. */
int packed_put(int fd, const void *data, size_t len, int64_t at, struct error *err);

static inline void packed_free_archive(struct archive **archive)
{
	if (*archive)
		archive_read_free(*archive);
}
#define auto_archive __attribute__((cleanup(packed_free_archive)))

#endif
