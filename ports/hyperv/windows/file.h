/* SPDX-License-Identifier: MIT */
/* Functions for files, by the functions of Windows. Paths are absolute, in UTF-8. */
#ifndef HYPERV_WINDOWS_FILE_H
#define HYPERV_WINDOWS_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "hyperv/windows/text.h"

#define FILE_DIGEST_TEXT 65 /* the size of a SHA-256 digest in hexadecimal digits and a NUL */

/* Returns "<dir>\\<name>", which the caller frees, or NULL with err set. */
char *file_in(const char *dir, const char *name, struct error *err);
bool file_exists(const char *path);
/* Opens a file for reading. Other programs may still read, write, rename and remove the file.
 * Returns a handle, which the caller closes, or INVALID_HANDLE_VALUE with err set. */
HANDLE file_open(const char *path, struct error *err);
int file_size(HANDLE file, uint64_t *out, struct error *err);
int file_read_at(HANDLE file, uint64_t at, void *to, size_t len, struct error *err);

/* Appends the contents of the whole file to `out`. Fails if `out` would become longer than
 * out->limit. */
int file_read(const char *path, struct buf *out, struct error *err);
/* Replaces the contents of a file. A reader sees either all of the old contents or all of the new
 * contents. If `sync` is true, waits until the new contents are on the disk. */
int file_replace(const char *path, const void *data, size_t len, bool sync, struct error *err);
int file_append(const char *path, const void *data, size_t len, struct error *err);
/* Removes a file. Returns 0 even if the file does not exist. */
int file_remove(const char *path, struct error *err);

/* Creates a directory and its parents. Only this user, administrators and Windows itself get access
 * to a directory that this call creates. Does not change an existing directory. */
int file_make_dirs(const char *path, struct error *err);
/* Returns true if `path` is a directory without entries. */
bool file_is_empty_dir(const char *path);
/* Removes a directory with everything in it, without following links. Returns 0 even if the
 * directory does not exist. */
int file_remove_tree(const char *path, struct error *err);

/* Takes an exclusive lock on a file. Creates a missing file. Waits for the lock until `deadline`, a
 * time of clock_mono_ns(). The caller releases the lock by closing the handle. No program can
 * remove the file before that. Returns INVALID_HANDLE_VALUE with err set on failure. */
HANDLE file_lock(const char *path, uint64_t deadline, struct error *err);

#endif
