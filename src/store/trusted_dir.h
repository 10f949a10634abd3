/* SPDX-License-Identifier: MIT */
/*
 * Directories that no other user can exchange. A user who can rename a directory, or change a link
 * on the way to it, can make us boot another disk, or write where only we may.
 */
#ifndef STORE_TRUSTED_DIR_H
#define STORE_TRUSTED_DIR_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/*
 * Opens the directory at `path`, name by name from the directory `from` (-1: "/"). Returns a
 * descriptor for reading. ERR_DENIED if a directory on the way, `from` too, belongs to neither the
 * user nor root; if others can write in such a directory and it is not sticky; or if a link belongs
 * to neither the user nor root. After that only the user and root can change where path leads, so
 * that path may be used as a name. With `create` missing directories are made (0700). The caller
 * checks the last directory itself.
 */
int trusted_dir_open(int from, const char *path, bool create, struct error *err);

/* Checks the mode of a file. ERR_DENIED: others than its owner can write to it. */
int trusted_dir_check_mode(const struct stat *st, const char *path, struct error *err);
/* Checks a directory. ERR_DENIED: it belongs to another user, or its group or others can write in
 * it. */
int trusted_dir_check_own(int fd, const char *path, struct error *err);

#endif
