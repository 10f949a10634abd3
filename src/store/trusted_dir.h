/* SPDX-License-Identifier: MIT */
/*
 * Directories that no other user can exchange. Whoever can rename a directory, or change a link on
 * the way to it, can have us boot another disk, or write where only we may.
 */
#ifndef STORE_TRUSTED_DIR_H
#define STORE_TRUSTED_DIR_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/*
 * Goes from the directory `from` (-1: "/") to path below it, name by name, and returns a descriptor
 * of the directory there, for reading. ERR_DENIED where a directory on the way, `from` too, is
 * neither the user's nor root's, where others can write in one that is not sticky, and where a link
 * is neither the user's nor root's. After that nobody but these two can change where path leads, so
 * that it may be used as a name. What is missing is made (0700) where `create` is set. The
 * directory itself is the caller's to check.
 */
int trusted_dir_open(int from, const char *path, bool create, struct error *err);

/* ERR_DENIED for what others than its owner can write. */
int trusted_dir_check_mode(const struct stat *st, const char *path, struct error *err);
/* ERR_DENIED for a directory of another user or one that group or others can write. */
int trusted_dir_check_own(int fd, const char *path, struct error *err);

#endif
