/* SPDX-License-Identifier: MIT */
/* Reads a tar archive, plain or compressed, entry by entry. The archive may be hostile. */
#ifndef ARTIFACT_TAR_H
#define ARTIFACT_TAR_H

#include "artifact/hash.h"
#include "artifact/packed.h"
#include "base/buf.h"
#include "base/error.h"

/* A bound on the unpacked bytes of one archive, or of several archives together. All bytes count:
 * contents, headers, and the bytes behind the end. So the bound also limits the time that reading
 * takes. */
struct tar_bound {
	uint64_t most;
	uint64_t unpacked; /* bytes so far, at most `most` */
};
/* Returns the bound for an archive that has `bytes` bytes of files in `count` entries. The bound
 * has room for usual headers too, and for LIMIT_LAYER_TAIL_BYTES behind the end. */
struct tar_bound tar_bound_of(uint64_t bytes, uint64_t count);
/* Counts more bytes. If the bound would be exceeded, fails with ERR_INVALID and counts nothing. */
int tar_count(struct tar_bound *bound, uint64_t bytes, struct error *err);

struct tar_reading {
	struct archive *archive; /* for archive_read_next_header(3) and the like */
	struct packed from;
	struct archive *unpacker; /* unpacks the bytes that `archive` reads, if there is a bound;
				   * else NULL */
	struct tar_bound *bound;
	struct hash *hash;    /* gets the unpacked bytes; NULL: the hash is not wanted */
	struct error stopped; /* why the unpacking was stopped; zeroed if it was not */
	bool drained;	      /* the unpacker has no more bytes */
	bool has_bytes;	      /* there was a byte other than zero before the first entry */
};

/* Opens the archive `fd` from its beginning. If the archive is compressed, its unpacked bytes count
 * in `bound`. A plain archive does not count, since it cannot unpack to more bytes than it has;
 * contents that nobody wants are skipped without being read. */
int tar_open(struct tar_reading *tar, int fd, struct tar_bound *bound, struct error *err);
/* Opens the archive in the next `left` bytes of `fd`; UINT64_MAX: all bytes until the end of `fd`.
 * The unpacked bytes count in `bound`, which must live longer than `tar`. Reading fails when these
 * bytes exceed the bound, or after a signal that asks this program to end. */
int tar_open_bounded(struct tar_reading *tar, int fd, uint64_t left, struct tar_bound *bound,
		     struct error *err);
/* Opens the archive in all remaining bytes of `fd` as tar_open_bounded() does, and hashes the
 * unpacked bytes. */
int tar_open_hashed(struct tar_reading *tar, int fd, struct tar_bound *bound, struct error *err);
void tar_close(struct tar_reading *tar); /* accepts a zeroed one */
#define auto_tar __attribute__((cleanup(tar_close)))

/* Checks that bytes without an entry are an empty archive. Otherwise fails with ERR_INVALID. Call
 * it for a tar of tar_open_bounded() when there are no more entries. Two blocks of zeros are the
 * end of an archive, but a disk image may begin with such blocks too. In an empty archive all bytes
 * are zero. */
int tar_require_archive(struct tar_reading *tar, struct error *err);
/* Stores the SHA-256 of all unpacked bytes, also of the bytes behind the archive's end. Call it
 * when the archive has no more entries. *behind counts the bytes behind the ends of this and of
 * earlier archives; this call adds those of this archive, also on failure. It fails if *behind
 * would exceed LIMIT_LAYER_TAIL_BYTES. */
int tar_digest(struct tar_reading *tar, uint64_t *behind, char out[DIGEST_TEXT], struct error *err);

/* The bounds on the files that are taken from an archive, and the number and size of the files that
 * were taken so far. */
struct tar_files {
	uint64_t most_bytes, most_count;
	uint64_t bytes, count; /* so far; each file counts in whole blocks */
};
/* Counts a file of that size before it is unpacked, because an archive of a few bytes can claim any
 * number of files. ERR_INVALID if a bound is exceeded. */
int tar_admit(struct tar_files *files, int64_t size, struct error *err);

/* Returns how many bytes of the archive, as it is stored, were read. */
uint64_t tar_bytes_read(const struct tar_reading *tar);
/* Writes the contents of the current entry, which has that size, to `fd`. */
int tar_copy_data(const struct tar_reading *tar, int fd, int64_t size, struct error *err);

/* Sets the error for libarchive's last failure. Returns -1. */
int tar_failed(const struct tar_reading *tar, struct error *err);
/* Sets the error for an archive that needs more memory than LIMIT_ARCHIVE_MEMORY_MIB. Returns
 * -1. */
int tar_out_of_memory(struct error *err);

/* Returns 1 if the archive has a file of that name, 0 if not, -1 with an error. "./" at the
 * beginning of a name in the archive is ignored. */
int tar_has(struct tar_reading *tar, const char *name, struct error *err);
/* Checks that the archive contains only files, hard links and directories. Otherwise fails with
 * ERR_INVALID. */
int tar_check_files(struct tar_reading *tar, struct error *err);
/* Appends the contents of the file of that name to `out`. It is an error if there is no such file,
 * or if its contents exceed the limit of `out`. */
int tar_take(struct tar_reading *tar, const char *name, struct buf *out, struct error *err);

#endif
