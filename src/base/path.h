/* SPDX-License-Identifier: MIT */
/* Paths, directories, and files that are replaced whole or not at all. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* "a/b", malloc'd; b absolute gives b. */
char *path_join(const char *a, const char *b, struct error *err);
/* Lexically cleaned ("//", "/./", trailing "/") as an absolute one; links and ".." are left alone.
 * malloc'd. */
char *path_clean(const char *path, struct error *err);
/* Whether `path` is `dir` or lies below it, by the text of the two, which are clean. */
bool path_is_below(const char *path, const char *dir);
/* Of this host. */
bool path_is_absolute(const char *path);
/* In front of one that begins with "/" it makes an absolute one of it. */
extern const char path_drive[];
/* Made absolute against the working directory and lexically cleaned ("//", "/./", trailing "/");
 * links and ".." are left alone. malloc'd. */
char *path_absolute(const char *path, struct error *err);
/* A name that is one path component: not empty, not "." or "..", no '/', '\\' or control bytes,
 * at most 128 bytes. */
bool path_is_safe_basename(const char *name);
/* The directory of the running executable, malloc'd. */
char *path_of_executable_dir(struct error *err);

/* Opens (O_DIRECTORY|O_CLOEXEC), making it and its parents first where they are missing. */
int path_open_dir(const char *path, struct error *err);
int path_make_dirs(const char *path, mode_t mode, struct error *err);
int path_open_dir_at(int dirfd, const char *name, bool create, mode_t mode, struct error *err);

/* Opens a regular file that a person has named, for reading; links are followed. What is none is
 * ERR_INVALID, and holds nobody up: a FIFO that nobody writes to, a device, a terminal. */
int path_open_file(const char *path, struct error *err);
/* The whole of such a file into out (out->limit bounds it): of what the host's owner has set up, as
 * /etc/resolv.conf, which may be a link. */
int path_read_file(const char *path, struct buf *out, struct error *err);
/* The whole of a regular file into out (out->limit bounds it). Symbolic links are not followed. */
int path_read_file_at(int dirfd, const char *name, struct buf *out, struct error *err);
enum path_sync { PATH_NO_SYNC, PATH_SYNC };
/* Temp file in the same directory, then rename: readers see the old file or the new one. On any
 * failure (a full disk) the old file stays and no temp file is left. */
int path_replace_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
			 enum path_sync sync, struct error *err);
/* Removes dirfd/name and everything below. Never follows a link and never leaves the file system
 * it started on. A missing name is success. */
int path_remove_tree_at(int dirfd, const char *name, struct error *err);
/* Copies the data of a regular file into an empty one, keeping holes. *method as below. */
int path_clone_data(int from_fd, int to_fd, const char **method, struct error *err);
/* Copies a file's data keeping holes: reflink where the file system can, else copy_file_range.
 * The target is created exclusively with mode. *method (optional) says "reflink" or "copy". */
int path_clone_file_at(int from_fd, int dirfd, const char *name, mode_t mode, const char **method,
		       struct error *err);
/* The same where all of it and spare bytes more are free, or none are needed (a reflink); else
 * ERR_UNAVAILABLE before anything is copied. */
int path_clone_with_room_at(int from_fd, int dirfd, const char *name, mode_t mode, uint64_t spare,
			    struct error *err);

#endif
