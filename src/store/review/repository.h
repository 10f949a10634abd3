/* SPDX-License-Identifier: MIT */
/*
 * Repositories of git that are not called .git, and parts of one: git takes each directory with the
 * right names for a repository, and runs the commands of its config.
 */
#ifndef STORE_REVIEW_REPOSITORY_H
#define STORE_REVIEW_REPOSITORY_H

#include <stddef.h>

#include "store/review/dirs.h"

/* The names by which git knows a repository; bits. */
#define REVIEW_PART_HEAD 1U
#define REVIEW_PART_OBJECTS 2U
#define REVIEW_PART_REFS 4U
#define REVIEW_PART_COMMONDIR 8U

/* Returns the part that a last name of a path is; 0: none. Upper and lower case count as equal. */
unsigned review_part_of_name(const char *name);

/* Finds the parts that a directory has, of whose path the first `len` bytes of `path` are. */
typedef unsigned review_find_parts(void *data, const char *path, size_t len);

/*
 * Returns a clause with what git does with the file, if its directory is a repository, or is made
 * one by this file, or could become one that obeys this file; otherwise NULL. So these count:
 *   - a part of a repository that has all of its parts. Also its removal is of this kind, because the
 *     part may stay on the host.
 *   - a file that git runs or obeys, such as config, beside HEAD, objects or refs.
 * `find` may tell more parts than the directory has at any one time.
 */
const char *review_repository_by(const char *path, bool is_dir, review_find_parts *find,
				 void *data);

/* Returns the parts that a directory of the host has now. */
unsigned review_parts_on_host(struct review_dirs *host, const char *path, size_t len);

#endif
