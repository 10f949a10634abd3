/* SPDX-License-Identifier: MIT */
/* Reads a tar archive, plain or compressed, entry by entry. The archive may be hostile. */
#ifndef ARTIFACT_TAR_H
#define ARTIFACT_TAR_H

#include "artifact/hash.h"
#include "artifact/packed.h"
#include "base/buf.h"
#include "base/error.h"

/* A bound on the unpacked bytes of one archive, or of several archives together. All unpacked bytes
 * count: contents, headers, and the bytes after the archive's end. So the bound also limits how
 * long reading takes. */
struct tar_bound {
	uint64_t most;
	uint64_t unpacked; /* bytes that were unpacked so far, at most `most` */
};
/* Returns the bound for an archive whose files have `bytes` bytes in `count` entries. The bound
 * also allows the usual headers, and LIMIT_LAYER_TAIL_BYTES bytes after the archive's end. */
struct tar_bound tar_bound_of(uint64_t bytes, uint64_t count);
/* Adds `bytes` to the unpacked bytes. If the bound would be exceeded, adds nothing and fails with
 * ERR_INVALID. */
int tar_count(struct tar_bound *bound, uint64_t bytes, struct error *err);

struct tar_reading {
	struct archive *archive; /* libarchive's handle, for example for
				  * archive_read_next_header(3) */
	struct packed from;
	struct archive *unpacker; /* libarchive's handle that unpacks the bytes for `archive`; NULL:
				   * there is no bound */
	struct tar_bound *bound;
	struct hash *hash;    /* hashes all unpacked bytes; NULL: no digest is wanted */
	struct error stopped; /* the error that stopped the unpacking; zeroed if there was no
			       * error */
	bool drained;	      /* `unpacker` has no more bytes */
	bool has_bytes;	      /* a byte other than zero came before the first entry */
};

/* Opens the archive `fd` from its beginning. If the archive is compressed, its unpacked bytes count
 * in `bound`. The bytes of a plain archive do not count, because they are not more than the bytes
 * of the file. Contents that the caller does not read are then skipped. */
int tar_open(struct tar_reading *tar, int fd, struct tar_bound *bound, struct error *err);
/* Opens the archive in the next `left` bytes of `fd`; UINT64_MAX: in all bytes until the end of
 * `fd`. The unpacked bytes count in `bound`, which must stay valid until tar_close(). Reading fails
 * if the bytes exceed the bound, or if a signal has asked this program to end. */
int tar_open_bounded(struct tar_reading *tar, int fd, uint64_t left, struct tar_bound *bound,
		     struct error *err);
/* Opens the archive in all remaining bytes of `fd`, as tar_open_bounded() does. Also hashes the
 * unpacked bytes. */
int tar_open_hashed(struct tar_reading *tar, int fd, struct tar_bound *bound, struct error *err);
void tar_close(struct tar_reading *tar); /* accepts a zeroed one */
#define auto_tar __attribute__((cleanup(tar_close)))

/* Checks that an archive without entries is a real, empty archive: all its bytes must be zero.
 * Otherwise fails with ERR_INVALID. The check is needed because two blocks of zeros mark the end of
 * an archive, but a disk image may begin with such blocks too. Call this function when there are no
 * more entries, for a `tar` that tar_open_bounded() has opened. */
int tar_require_archive(struct tar_reading *tar, struct error *err);
/* Writes the SHA-256 of all unpacked bytes, also of the bytes after the archive's end, to `out`.
 * Call this function when the archive has no more entries. Adds the number of bytes after the
 * archive's end to *behind, also on failure, so *behind can be the sum for several archives. The
 * function fails if *behind would exceed LIMIT_LAYER_TAIL_BYTES. */
int tar_digest(struct tar_reading *tar, uint64_t *behind, char out[DIGEST_TEXT], struct error *err);

/* Bounds on the files that are unpacked from an archive, and the number and size of the files that
 * were unpacked so far. */
struct tar_files {
	uint64_t most_bytes, most_count;
	uint64_t bytes, count; /* size and number of the files so far; each file counts in whole
			        * blocks */
};
/* Counts a file with `size` bytes before it is unpacked, because an archive of a few bytes can have
 * any number of files. ERR_INVALID: a bound would be exceeded. */
int tar_admit(struct tar_files *files, int64_t size, struct error *err);

/* Returns how many stored bytes of the archive were read. If the archive is compressed, these are
 * the compressed bytes. */
uint64_t tar_bytes_read(const struct tar_reading *tar);
/* Writes the contents of the current entry to `fd`. `size` is the size of the entry in bytes. */
int tar_copy_data(const struct tar_reading *tar, int fd, int64_t size, struct error *err);

/* Sets the error for libarchive's last failure. Returns -1. */
int tar_failed(const struct tar_reading *tar, struct error *err);
/* Sets the error for an archive that needs more memory than LIMIT_ARCHIVE_MEMORY_MIB. Returns
 * -1. */
int tar_out_of_memory(struct error *err);

/* Reads on to the next entry with the name `name`, of any type. Returns 1 if there is one: the next
 * read then gives its contents. Returns 0 if no later entry has the name, or -1 with err set.
 * Ignores "./" at the beginning of a name in the archive. */
int tar_has(struct tar_reading *tar, const char *name, struct error *err);
/* Checks that the archive contains only files, hard links and directories. Otherwise fails with
 * ERR_INVALID. */
int tar_check_files(struct tar_reading *tar, struct error *err);
/* Appends the contents of the file `name` to `out`. Fails if the archive has no such file, or if
 * its contents exceed the limit of `out`. */
int tar_take(struct tar_reading *tar, const char *name, struct buf *out, struct error *err);

#endif
