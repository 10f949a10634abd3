/* SPDX-License-Identifier: MIT */
/*
 * Takes a directory of the host for a review: as an image that a guest sees read-only, and as a
 * list of the image's files. With the list, microagent later finds what the guest has changed, and
 * what was changed on the host meanwhile.
 *
 * The list consists of records, each of which ends with a NUL byte. The fields of a record are
 * separated by one blank. The path is the last field, and can contain any byte except NUL.
 *   microagent-review-list 1        the first record
 *   TYPE MODE SIZE MTIME CTIME DEV INO DIGEST PATH   a file; these records are sorted by path
 *   end COUNT                       the last record, with the number of files
 * TYPE is f (regular file), d (directory), l (symbolic link), or s (left out). MODE is octal. MTIME
 * and CTIME are in nanoseconds since 1970. DIGEST is the SHA-256 of a file's contents or of a link's
 * target, and "-" for other types. PATH is relative to the directory, which itself is not listed.
 * src/store/review reads the list.
 */
#ifndef ARTIFACT_REVIEW_H
#define ARTIFACT_REVIEW_H

#include <jansson.h>
#include <sys/stat.h>

#include "artifact/digest.h"
#include "artifact/rootfs.h"
#include "base/buf.h"

struct hash;

/* A file of the directory. */
struct review_file {
	char *path;
	char *target; /* the target of a link; otherwise NULL */
	char type;    /* as in the list */
	/* the reason why the file is left out, for the type 's'; a static text */
	const char *why;
	mode_t mode;
	uint64_t size, dev, ino;
	int64_t mtime, ctime; /* in nanoseconds since 1970 */
	uid_t owner;
	char digest[DIGEST_TEXT]; /* "-" if there is none */
};

/* The files of a directory. */
struct review {
	int root;	  /* descriptor of the directory; it belongs to the caller */
	struct stat stat; /* of the directory itself */
	struct review_file *files;
	size_t count, room;
	size_t left_out; /* the number of files with the type 's' */
	uint64_t bytes;	 /* the sizes of all regular files together */
	/* A time shortly before the walk, in nanoseconds since 1970. A file that was changed after
	 * this time may be changed again without another CTIME, because the clock of a file system
	 * is coarse. */
	int64_t settled;
	bool unsettled; /* a file was changed after that time */
	/* The file whose contents are being read. */
	struct hash *hash;
	uint64_t at;
};

/* Lists the files below the directory that is open as `root`, sorted by path. Follows no link, and
 * enters no other file system. ERR_UNAVAILABLE: the directory has more files or bytes than the
 * limits LIMIT_REVIEW_FILES and LIMIT_REVIEW_BYTES allow. The caller releases *out. */
int review_walk(int root, struct review *out, struct error *err);
void review_free(struct review *review); /* accepts a zeroed one */
#define auto_review __attribute__((cleanup(review_free)))

/* Computes the digest of all that the walk has found. It changes whenever a file is added, removed or
 * changed, as long as the clock and the file system of the host are right. */
int review_state(const struct review *review, char out[DIGEST_TEXT], struct error *err);

/* Adds the files to the tree. `source`, which the function fills, gives their contents while the
 * tree is written, and stores the digests of the contents in `review`. Both must exist as long as
 * the tree. */
int review_fill(struct review *review, struct rootfs *fs, struct rootfs_source *source,
		struct error *err);

/* Writes the list to the file `fd`. */
int review_write_list(const struct review *review, int fd, struct error *err);

/* Takes files out of an image: writes the files with these paths, each of which ends with a NUL byte,
 * below the directory that is open as `to`: regular files with mode 0600, directories with mode 0700,
 * and links. Skips paths that the image does not have. The files must not exist yet; directories
 * may. */
int review_take_out(int image, int to, const char *paths, size_t len, struct error *err);

#endif
