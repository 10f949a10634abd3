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

/* Returns "a/b", or `b` if `b` is absolute. The caller frees the result. */
char *path_join(const char *a, const char *b, struct error *err);
/* Returns `path` without "//", "/./" and a "/" at its end, with "/" as its first character. Reads
 * no file, so symbolic links and ".." remain. The caller frees the result. */
char *path_clean(const char *path, struct error *err);
/* Returns true if `path` is `dir` or a path below `dir`. Compares only the two texts, which must be
 * results of path_clean(). */
bool path_is_below(const char *path, const char *dir);
/* Returns true if a path is absolute on this host. */
bool path_is_absolute(const char *path);
/* The text that makes a path that begins with "/" absolute if it is put in front of the path: "" on
 * systems without drives. */
extern const char path_drive[];
/* Returns `path`, made absolute by the working directory and cleaned by path_clean(). The caller
 * frees the result. */
char *path_absolute(const char *path, struct error *err);
/* Returns true if a name is one path component without special characters: not empty, not "." or
 * "..", no '/', '\\' or control bytes, at most 128 bytes. */
bool path_is_safe_basename(const char *name);
/* Returns the directory of the running executable. The caller frees the path. */
char *path_of_executable_dir(struct error *err);

/* Opens a directory. First makes the directory and its parents with mode 0700, if they are missing.
 * Returns the descriptor, or -1 with an error. */
int path_open_dir(const char *path, struct error *err);
/* Makes a directory and its parents, except those that exist. */
int path_make_dirs(const char *path, mode_t mode, struct error *err);
/* Opens the directory `name` in `dirfd`, which must not be a symbolic link. If `create` is true and
 * the directory is missing, makes it first. Returns the descriptor, or -1 with an error. */
int path_open_dir_at(int dirfd, const char *name, bool create, mode_t mode, struct error *err);

/* Opens a regular file that a user has named, for reading. Follows symbolic links. Fails with
 * ERR_INVALID for any other kind of file (a FIFO, a device, a terminal), and never blocks. */
int path_open_file(const char *path, struct error *err);
/* Opens a file like path_open_file(), and reads all of it into `out`. ERR_INVALID if the file is
 * longer than out->limit allows. For files that the host's administrator has configured, like
 * /etc/resolv.conf, which may be symbolic links. */
int path_read_file(const char *path, struct buf *out, struct error *err);
/* Reads a whole regular file into `out`. ERR_INVALID if the file is longer than out->limit allows,
 * or if `name` is a symbolic link. */
int path_read_file_at(int dirfd, const char *name, struct buf *out, struct error *err);
enum path_sync { PATH_NO_SYNC, PATH_SYNC };
/* Replaces a file, or makes it if it is missing: writes a temporary file in the same directory, and
 * renames that file. So a reader sees either the old file or the new one. On failure (a full disk,
 * for example) the old file stays and no temporary file is left. PATH_SYNC: returns when the new
 * file is on the disk. */
int path_replace_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
			 enum path_sync sync, struct error *err);
/* Removes dirfd/name and everything below it. Follows no symbolic link and enters no other file
 * system. Succeeds if dirfd/name does not exist. If a file cannot be removed, removes all other
 * files, and then fails. */
int path_remove_tree_at(int dirfd, const char *name, struct error *err);
/* Copies the data of a regular file into an empty file: by reflink if the file system supports
 * reflinks, otherwise byte by byte. Holes are not filled. Sets *method to "reflink" or "copy";
 * `method` may be NULL. */
int path_clone_data(int from_fd, int to_fd, const char **method, struct error *err);
/* Copies a part of the data like path_clone_data(), for a caller that must not be blocked by a
 * large file. Each call copies at most 16 MiB. The caller sets *at to 0 before the first call, and
 * calls the function again as long as it returns 0. The function stores its progress in *at.
 * Returns 1 if everything is copied, or -1 with an error. The source must not change between the
 * calls. */
int path_clone_part(int from_fd, int to_fd, int64_t *at, struct error *err);
/* Copies a file like path_clone_data(), to the new file dirfd/name with the given mode. Fails if
 * dirfd/name exists. */
int path_clone_file_at(int from_fd, int dirfd, const char *name, mode_t mode, const char **method,
		       struct error *err);
/* Copies a file like path_clone_file_at(), but first checks for room if a reflink is not possible.
 * Fails with ERR_UNAVAILABLE, before any byte is copied, if the file system of `dirfd` does not
 * have room for the whole file and `spare` more bytes. */
int path_clone_with_room_at(int from_fd, int dirfd, const char *name, mode_t mode, uint64_t spare,
			    struct error *err);

#endif
