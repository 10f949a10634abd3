/* SPDX-License-Identifier: MIT */
/* A tar archive, plain or compressed, that is read entry by entry. It may be hostile. */
#ifndef ARTIFACT_TAR_H
#define ARTIFACT_TAR_H

#include "artifact/hash.h"
#include "artifact/packed.h"
#include "base/buf.h"
#include "base/error.h"

/* A bound on the bytes that one archive, or several together, unpack to. All bytes count: contents,
 * headers, and what is behind the end. So it bounds the time that archives take to be read. */
struct tar_bound {
	uint64_t most;
	uint64_t unpacked; /* so far, at most `most` */
};
/* For an archive whose files may come to so many bytes, by so many entries: it has room for usual
 * headers, and for LIMIT_LAYER_TAIL_BYTES behind its end. */
struct tar_bound tar_bound_of(uint64_t bytes, uint64_t count);
/* Counts bytes more, or fails with ERR_INVALID and counts nothing. */
int tar_count(struct tar_bound *bound, uint64_t bytes, struct error *err);

struct tar_reading {
	struct archive *archive; /* for archive_read_next_header(3) and the like */
	struct packed from;
	struct archive *unpacker; /* unpacks for the archive where there is a bound; else NULL */
	struct tar_bound *bound;
	struct hash *hash;    /* of the unpacked bytes; NULL: nobody wants it */
	struct error stopped; /* why the unpacking was stopped; else zeroed */
	bool drained;	      /* the unpacker has no more */
	bool has_bytes;	      /* before the first entry there was a byte that is not zero */
};

/* Opens the archive that fd is, from its beginning. A plain archive is not counted, since it
 * unpacks to nothing that is not in it; its contents are passed over without being read. The
 * unpacked bytes of a compressed archive count in bound. */
int tar_open(struct tar_reading *tar, int fd, struct tar_bound *bound, struct error *err);
/* Opens the archive in the left bytes that fd has next; UINT64_MAX: all until its end. Its unpacked
 * bytes count in bound, which has to outlive tar. Reading fails once they are too many, or after a
 * signal. */
int tar_open_bounded(struct tar_reading *tar, int fd, uint64_t left, struct tar_bound *bound,
		     struct error *err);
/* Opens the same of all bytes of fd, which are hashed as they are unpacked. */
int tar_open_hashed(struct tar_reading *tar, int fd, struct tar_bound *bound, struct error *err);
void tar_close(struct tar_reading *tar); /* accepts a zeroed one */
#define auto_tar __attribute__((cleanup(tar_close)))

/* Refuses what was opened by tar_open_bounded(), has no entries, and is no archive either: the end of an
 * archive is two blocks of zeros, with which a disk image may begin. Of an archive without entries all
 * bytes are zero. To be asked for when there are no more entries. */
int tar_require_archive(struct tar_reading *tar, struct error *err);
/* The SHA-256 of all unpacked bytes, also of those behind the archive's end. To be asked for when
 * the archive has no more entries. *behind: the number of bytes behind the ends of earlier archives,
 * which grows by those of this one, also on failure, up to LIMIT_LAYER_TAIL_BYTES. */
int tar_digest(struct tar_reading *tar, uint64_t *behind, char out[DIGEST_TEXT], struct error *err);

/* The files that are taken of an archive, and what they may come to. */
struct tar_files {
	uint64_t most_bytes, most_count;
	uint64_t bytes, count; /* so far, in whole blocks */
};
/* Counts a file of that size before it is unpacked: an archive of a few bytes can say that it holds
 * any number. ERR_INVALID where it is one too many. */
int tar_admit(struct tar_files *files, int64_t size, struct error *err);

/* How many bytes were read, as they are stored. */
uint64_t tar_bytes_read(const struct tar_reading *tar);
/* Writes the contents of the entry that was read last, which has that size. */
int tar_copy_data(const struct tar_reading *tar, int fd, int64_t size, struct error *err);

/* Makes an error of libarchive's last failure. */
int tar_failed(const struct tar_reading *tar, struct error *err);
/* The error of an archive that LIMIT_ARCHIVE_MEMORY_MIB is too little for. */
int tar_out_of_memory(struct error *err);

/* Whether the archive has a file of that name, a leading "./" apart; -1. */
int tar_has(struct tar_reading *tar, const char *name, struct error *err);
/* Refuses an archive that has anything but files, further names of files, and directories. */
int tar_check_files(struct tar_reading *tar, struct error *err);
/* Appends the contents of the file of that name; more than out may hold is an error. */
int tar_take(struct tar_reading *tar, const char *name, struct buf *out, struct error *err);

#endif
