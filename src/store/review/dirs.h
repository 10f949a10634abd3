/* SPDX-License-Identifier: MIT */
/*
 * Opens the directories of paths below a directory, one name after the other, and follows no link.
 * The directories of the last path stay open. So a sorted sequence of paths opens each directory
 * once.
 */
#ifndef STORE_REVIEW_DIRS_H
#define STORE_REVIEW_DIRS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/sha256.h"
#include "store/review/list.h"

struct review_level;

struct review_dirs {
	int root; /* belongs to the caller */
	/* NULL, or the list of the reviewed directory, which is `root`. With a list, a name counts
	 * as the host's file only if it is stored with the same bytes. (In a directory that ignores
	 * the case of letters, "A" opens the file "a". A guest must not write to "a" by the name
	 * "A".) */
	const struct review_list *list;
	dev_t dev; /* of `root`; other file systems are not entered */
	struct review_level *levels;
	size_t depth, room;	 /* the number of open directories, the root among them */
	char path[PATH_MAX + 1]; /* of the last open directory */
};

int review_dirs_begin(struct review_dirs *dirs, int root, const struct review_list *list,
		      struct error *err);
void review_dirs_end(struct review_dirs *dirs); /* accepts a zeroed one */
#define auto_review_dirs __attribute__((cleanup(review_dirs_end)))

/* The reasons why a path cannot be used. */
enum review_bar {
	REVIEW_BAR_NONE,    /* the path can be used */
	REVIEW_BAR_MISSING, /* a directory of the path does not exist */
	REVIEW_BAR_NO_DIR,  /* a directory of the path is a link or another file */
	REVIEW_BAR_MOUNT,   /* a directory of the path is on another file system */
	REVIEW_BAR_CASE,    /* the host has the name, but with other letters */
	REVIEW_BAR_DENIED,  /* this user may not read a directory of the path, or it failed */
};
/* Returns a clause about the host, a static text. */
const char *review_bar_text(enum review_bar bar);

/* Opens the directory of `path`, which must be clean. *dir becomes its descriptor, which belongs to
 * `dirs` and is valid until the next call; *name becomes the last name of the path. */
enum review_bar review_dirs_open(struct review_dirs *dirs, const char *path, int *dir,
				 const char **name);
/* Like lstat() of the path. REVIEW_BAR_MISSING also if the file itself does not exist. Does not
 * check the bytes of the last name. */
enum review_bar review_dirs_stat(struct review_dirs *dirs, const char *path, struct stat *out);
/* Checks the bytes of the last name of a path that exists. */
enum review_bar review_dirs_check_name(struct review_dirs *dirs, const char *path);
/* Notes that this process has made the last name of `path`, whose directory was just opened. In each
 * directory the names must come in the order of strcmp(). */
int review_dirs_made(struct review_dirs *dirs, const char *path, struct error *err);

/* Opens a regular file for reading. Returns its descriptor; -1 with *bar set. *bar is
 * REVIEW_BAR_NO_DIR if it is another kind of file. */
int review_dirs_read(struct review_dirs *dirs, const char *path, enum review_bar *bar);

/* Computes the digest of a file from its beginning to its end, and counts its bytes. */
int review_digest_file(int fd, uint8_t digest[SHA256_BYTES], uint64_t *size, struct error *err);
void review_digest_bytes(const void *bytes, size_t len, uint8_t digest[SHA256_BYTES]);

#endif
