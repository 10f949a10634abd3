/* SPDX-License-Identifier: MIT */
/* Files of Windows, by absolute paths in UTF-8. */
#ifndef HYPERV_WINDOWS_FILE_H
#define HYPERV_WINDOWS_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "hyperv/windows/text.h"

#define FILE_DIGEST_TEXT 65 /* SHA-256 in hexadecimal, and a NUL */

/* "<dir>\\<name>", malloc'd. */
char *file_in(const char *dir, const char *name, struct error *err);
bool file_exists(const char *path);
/* For reading; others may read, write, rename and remove it. INVALID_HANDLE_VALUE: err. */
HANDLE file_open(const char *path, struct error *err);
int file_size(HANDLE file, uint64_t *out, struct error *err);
int file_read_at(HANDLE file, uint64_t at, void *to, size_t len, struct error *err);

/* The whole of a file; out->limit bounds it. */
int file_read(const char *path, struct buf *out, struct error *err);
/* Readers see the old contents or the new ones. */
int file_replace(const char *path, const void *data, size_t len, bool sync, struct error *err);
int file_append(const char *path, const void *data, size_t len, struct error *err);
/* A missing one is success. */
int file_remove(const char *path, struct error *err);

/* Makes it, and what it is in, for this user, administrators and the system alone; one that is
 * there stays as it is. */
int file_make_dirs(const char *path, struct error *err);
/* A directory that is there and has nothing in it. */
bool file_is_empty_dir(const char *path);
/* With all that is below it; nothing is followed. A missing one is success. */
int file_remove_tree(const char *path, struct error *err);

/* An exclusive lock on a file, made where it is missing; waits for it until then (clock_mono_ns()).
 * INVALID_HANDLE_VALUE: err. It is given back by closing the handle, and the file cannot be removed
 * while anybody has it. */
HANDLE file_lock(const char *path, uint64_t deadline, struct error *err);

#endif
