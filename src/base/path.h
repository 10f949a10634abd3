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
/* Returns `path` as a path from "/", without "//", "/./" and a "/" at its end. Looks at no file, so
 * links and ".." stay. The result is malloc'd. */
char *path_clean(const char *path, struct error *err);
/* Returns whether `path` is `dir` or lies below it. Compares only the two texts, which must be
 * clean. */
bool path_is_below(const char *path, const char *dir);
/* Returns whether a path is absolute on this host. */
bool path_is_absolute(const char *path);
/* The text that must come before a path that begins with "/" to make it absolute: "" on systems
 * that have no drives. */
extern const char path_drive[];
/* Returns `path`, made absolute from the working directory and cleaned by path_clean(). The result
 * is malloc'd. */
char *path_absolute(const char *path, struct error *err);
/* Returns whether a name is one path component: not empty, not "." or "..", no '/', '\\' or control
 * bytes, at most 128 bytes. */
bool path_is_safe_basename(const char *name);
/* Returns the directory of the running executable, malloc'd. */
char *path_of_executable_dir(struct error *err);

/* Opens a directory. Makes it and its parents first, with mode 0700, if they are missing. */
int path_open_dir(const char *path, struct error *err);
/* Makes a directory and its parents, except those that exist. */
int path_make_dirs(const char *path, mode_t mode, struct error *err);
/* Opens a directory in `dirfd`, and follows no link. If `create` is set, makes it first if it is
 * missing. */
int path_open_dir_at(int dirfd, const char *name, bool create, mode_t mode, struct error *err);

/* Opens a regular file that a person has named, for reading; links are followed. Fails with
 * ERR_INVALID for any other kind of file (a FIFO, a device, a terminal), and never blocks. */
int path_open_file(const char *path, struct error *err);
/* Opens a file like path_open_file(), and reads all of it into `out`. ERR_INVALID if the file is
 * longer than out->limit allows. This function is for files that the host's owner has set up, like
 * /etc/resolv.conf, which may be links. */
int path_read_file(const char *path, struct buf *out, struct error *err);
/* Reads a whole regular file into `out`. ERR_INVALID if the file is longer than out->limit allows,
 * or if `name` is a symbolic link. */
int path_read_file_at(int dirfd, const char *name, struct buf *out, struct error *err);
enum path_sync { PATH_NO_SYNC, PATH_SYNC };
/* Replaces a file, or makes it: writes a temporary file in the same directory, and renames it. So a
 * reader sees either the old file or the new one. On failure (a full disk, for example) the old
 * file stays and no temporary file is left. PATH_SYNC: returns when the new file is on the disk. */
int path_replace_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
			 enum path_sync sync, struct error *err);
/* Removes dirfd/name and everything below it. Never follows a link and never enters another file
 * system. Succeeds if the name is missing. If a file cannot be removed, all other files are
 * removed, and the call fails. */
int path_remove_tree_at(int dirfd, const char *name, struct error *err);
/* Copies the data of a regular file into an empty file: by reflink if the file system supports
 * that, else byte by byte. Holes stay holes. *method becomes "reflink" or "copy"; `method` may be
 * NULL. */
int path_clone_data(int from_fd, int to_fd, const char **method, struct error *err);
/* Copies a part of the data like path_clone_data(), for a caller that must not be held up by a
 * large file. The caller sets *at to 0 before the first call. As long as 0 is returned, the caller
 * calls the function again, with the *at that the function has stored. Returns 1 if everything is
 * copied, or -1 on error. Each call copies 16 MiB at most. The source must not change meanwhile. */
int path_clone_part(int from_fd, int to_fd, int64_t *at, struct error *err);
/* Copies a file like path_clone_data(), to the new file dirfd/name with the given mode. Fails if
 * dirfd/name exists. */
int path_clone_file_at(int from_fd, int dirfd, const char *name, mode_t mode, const char **method,
		       struct error *err);
/* Copies a file like path_clone_file_at(), but first checks for room if a reflink is not possible.
 * Fails with ERR_UNAVAILABLE, before any byte is copied, if the target's file system does not have
 * room for the whole file and `spare` more bytes. */
int path_clone_with_room_at(int from_fd, int dirfd, const char *name, mode_t mode, uint64_t spare,
			    struct error *err);

#endif
