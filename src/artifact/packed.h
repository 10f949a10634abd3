/* SPDX-License-Identifier: MIT */
/*
 * Foreign bytes that may be compressed, as libarchive reads them: from where a descriptor is, and
 * as many as its caller says. Only what libarchive unpacks by itself is unpacked. For the other
 * ways to compress it would run a program of PATH (archive_read_filter(3)).
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
/* How archives are compressed that people exchange. */
#define PACKINGS_OF_ARCHIVES (PACKING_GZIP | PACKING_BZIP2 | PACKING_XZ | PACKING_ZSTD)

struct packed {
	int fd; /* the caller's */
	uint64_t left;
	char *block;
	bool ended; /* all bytes were read, and more were wanted */
	int errnum; /* why the host could not read on; 0: it could */
};

/* left: how many bytes there are; UINT64_MAX: all that fd has until its end. */
int packed_begin(struct packed *packed, int fd, uint64_t left, struct error *err);
void packed_end(struct packed *packed); /* accepts a zeroed one */

/* ERR_UNSUPPORTED where libarchive was built without one of the packings. */
int packed_support(struct archive *archive, unsigned packings, struct error *err);
/* Opens archive, whose formats are set, on the bytes. The result is libarchive's. */
int packed_open(struct packed *packed, struct archive *archive);

/* Gives the bytes as they are unpacked, by archive_read_data_block(). *out is set also where the
 * result is not 0: then it has libarchive's words, or is NULL with err set. ARCHIVE_EOF: there is
 * not one byte. */
int packed_unpack(struct packed *packed, unsigned packings, struct archive **out,
		  struct error *err);

/* Writes unpacked bytes at an offset. */
int packed_put(int fd, const void *data, size_t len, int64_t at, struct error *err);

static inline void packed_free_archive(struct archive **archive)
{
	if (*archive)
		archive_read_free(*archive);
}
#define auto_archive __attribute__((cleanup(packed_free_archive)))

#endif
