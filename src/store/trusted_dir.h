/* SPDX-License-Identifier: MIT */
/*
 * Opens directories that no other user can replace by another directory. A user who can rename a
 * directory, or change a link on the path to it, can make this program boot another disk, or write
 * to another directory.
 */
#ifndef STORE_TRUSTED_DIR_H
#define STORE_TRUSTED_DIR_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/*
 * Opens the directory at `path`, name by name, beginning in the directory `from` (-1: "/"). Returns
 * a descriptor for reading. ERR_DENIED in these cases: `from`, a directory on the path or a link on
 * the path belongs to neither the user nor root; or other users can write in `from` or in a
 * directory on the path, and this directory is not sticky.
 *
 * After success, only the user and root can change where `path` leads, so the caller may use `path`
 * later too. With `create`, missing directories are made (0700). The last directory of the path is
 * not checked, so the caller must check it.
 */
int trusted_dir_open(int from, const char *path, bool create, struct error *err);

/* Checks the mode of a file. ERR_DENIED: its group or other users can write to the file. */
int trusted_dir_check_mode(const struct stat *st, const char *path, struct error *err);
/* Checks a directory. ERR_DENIED: it belongs to another user, or its group or other users can write
 * in the directory. */
int trusted_dir_check_own(int fd, const char *path, struct error *err);

#endif
