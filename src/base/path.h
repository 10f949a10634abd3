/* SPDX-License-Identifier: MIT */
/* Paths, directories, and files that are replaced completely or not at all. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* Returns "a/b", malloc'd; if b is absolute, returns b. */
char *path_join(const char *a, const char *b, struct error *err);
/* Returns path as an absolute path, cleaned only as text ("//", "/./", trailing "/"). Links and
 * ".." stay. malloc'd. */
char *path_clean(const char *path, struct error *err);
/* Returns whether `path` is `dir` or lies below it. Compares only the two texts, which must be
 * clean. */
bool path_is_below(const char *path, const char *dir);
/* Returns whether a path is absolute on this host. */
bool path_is_absolute(const char *path);
/* Makes a path that begins with "/" absolute if it is put in front of that path. */
extern const char path_drive[];
/* Returns path made absolute from the working directory, and cleaned as path_clean() does.
 * malloc'd. */
char *path_absolute(const char *path, struct error *err);
/* Returns whether a name is one path component: not empty, not "." or "..", no '/', '\\' or control
 * bytes, at most 128 bytes. */
bool path_is_safe_basename(const char *name);
/* Returns the directory of the running executable, malloc'd. */
char *path_of_executable_dir(struct error *err);

/* Opens a directory (O_DIRECTORY|O_CLOEXEC), and makes it and its parents first if they are
 * missing. */
int path_open_dir(const char *path, struct error *err);
int path_make_dirs(const char *path, mode_t mode, struct error *err);
int path_open_dir_at(int dirfd, const char *name, bool create, mode_t mode, struct error *err);

/* Opens a regular file that a person has named, for reading; links are followed. Anything else is
 * ERR_INVALID, and does not block the caller: a FIFO without a writer, a device, a terminal. */
int path_open_file(const char *path, struct error *err);
/* Reads a whole such file into out (out->limit bounds it). It is for files that the host's owner
 * has set up, like /etc/resolv.conf, which may be links. */
int path_read_file(const char *path, struct buf *out, struct error *err);
/* Reads a whole regular file into out (out->limit bounds it). Symbolic links are not followed. */
int path_read_file_at(int dirfd, const char *name, struct buf *out, struct error *err);
enum path_sync { PATH_NO_SYNC, PATH_SYNC };
/* Replaces a file by a temporary file in the same directory and a rename: readers see the old file
 * or the new one. On any failure (a full disk) the old file stays and no temporary file is left. */
int path_replace_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
			 enum path_sync sync, struct error *err);
/* Removes dirfd/name and everything below it. Never follows a link and never leaves the file system
 * on which it started. Succeeds if the name is missing. */
int path_remove_tree_at(int dirfd, const char *name, struct error *err);
/* Copies the data of a regular file into an empty one and keeps holes. *method is as below. */
int path_clone_data(int from_fd, int to_fd, const char **method, struct error *err);
/* Copies a file's data and keeps holes, by reflink if the file system supports that, else by
 * copy_file_range. The target is created exclusively with mode. *method (optional) becomes
 * "reflink" or "copy". */
int path_clone_file_at(int from_fd, int dirfd, const char *name, mode_t mode, const char **method,
		       struct error *err);
/* Copies a file in the same way if there is room for all of it and spare bytes more, or none is
 * needed (a reflink); else fails with ERR_UNAVAILABLE before anything is copied. */
int path_clone_with_room_at(int from_fd, int dirfd, const char *name, mode_t mode, uint64_t spare,
			    struct error *err);

#endif
