/* SPDX-License-Identifier: MIT */
/*
 * Opens paths that people name, so that no other user can decide where the paths lead.
 *
 * A path can lead through a directory in which another user may write. That user can replace a
 * directory or file on the path by a link, even long after the path was recorded. So a link is
 * followed under two conditions. It must belong to the caller or to root. Nobody else may change
 * the directory that contains the link, or a directory above it.
 *
 * Nobody else may change a directory if it belongs to the caller or to root, and if only its owner
 * can write in it or it is sticky. Its group may also write in it, if the group's number is the
 * caller's user number and group number, and if the directory has no access control list. A user
 * who may change a directory can still move his own directories and files into it. These are not
 * links, and the path leads to them.
 */
#ifndef STORE_OWN_LINKS_H
#define STORE_OWN_LINKS_H

#include "base/error.h"

/* Opens a directory and returns a descriptor like that of file_open_place(). If the last name of
 * the path is a link, fails with errno ELOOP or ENOTDIR. ERR_DENIED without an errno: another name
 * in the path is a link that must not be followed. */
int own_links_dir(const char *path, struct error *err);

/* A function that checks a directory: whether it may contain a link to a file, or the file to which
 * a link leads. Returns 0 if it may, or -1 with err set. */
typedef int own_links_rule(int dirfd, const char *path, struct error *err);
/*
 * Opens the file like open(2) with O_CLOEXEC, O_NOCTTY and O_NONBLOCK. Because of O_NONBLOCK, a
 * FIFO in place of the file does not block the caller. If the last name of the path is a link,
 * calls `rule` twice: for the directory that contains the link, and for the directory that contains
 * the target file. `rule` may be NULL. ERR_DENIED without an errno: a link must not be followed, or
 * the file has several names and another user may have made this one.
 */
int own_links_file(const char *path, int flags, own_links_rule *rule, struct error *err);
/* Opens the file like own_links_file(), but follows no link and has no rule. ERR_DENIED without an
 * errno: the path has a link, or another user may have made this name of the file. */
int own_links_file_direct(const char *path, int flags, struct error *err);

#endif
