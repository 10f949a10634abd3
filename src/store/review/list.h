/* SPDX-License-Identifier: MIT */
/*
 * Reads the list of the files of a reviewed directory. `microagent-artifact review-build` writes the
 * list when it takes the directory (artifact/review.h has the form of the list).
 */
#ifndef STORE_REVIEW_LIST_H
#define STORE_REVIEW_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/sha256.h"

/* The position of the reviewed directory itself, which has no entry in the list. */
#define REVIEW_ROOT (SIZE_MAX - 1)
/* No position. */
#define REVIEW_NONE SIZE_MAX

/* A file of the reviewed directory. */
struct review_entry {
	const char *path; /* relative to the reviewed directory; belongs to the list */
	/* 'f': regular file, 'd': directory, 'l': symbolic link, 's': a file that is not in the
	 * image */
	char type;
	mode_t mode; /* permission bits as on the host, also set-ID bits and the sticky bit */
	uint64_t size, dev, ino;
	int64_t mtime, ctime; /* in nanoseconds since 1970. ctime 0: only the contents show whether
			       * the host's file is as in the image. */
	uint8_t digest[SHA256_BYTES]; /* of the contents ('f') or of the target ('l') */
	size_t parent; /* the position of its directory; REVIEW_ROOT: the reviewed directory */
};

struct review_list {
	struct review_entry *entries; /* sorted by path, as strcmp() compares */
	size_t count;
	struct buf text; /* the bytes of the list, which have the paths */
};

/* Reads the list from the file `fd`, from its beginning. ERR_IO if the list is damaged. The caller
 * releases *out by review_list_free(). */
int review_list_read(int fd, struct review_list *out, struct error *err);
void review_list_free(struct review_list *list); /* accepts a zeroed one */
#define auto_review_list __attribute__((cleanup(review_list_free)))

/* Returns the position of the file, or REVIEW_NONE if the image has no such file. A file that was
 * left out (type 's') is not in the image. The path "" is that of the reviewed directory. */
size_t review_list_find(const struct review_list *list, const char *path);
/* Finds all that is below the directory `path`: the positions from *from on, and before *to. */
void review_list_below(const struct review_list *list, const char *path, size_t *from, size_t *to);

/*
 * Returns whether a path from outside may be used below a directory: it is not empty, is shorter
 * than PATH_MAX, has at most TREE_DEPTH_MAX slashes, and none of its names is empty, ".", ".." or
 * longer than NAME_MAX.
 */
bool review_path_is_clean(const char *path);

#endif
