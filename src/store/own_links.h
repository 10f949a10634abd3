/* SPDX-License-Identifier: MIT */
/*
 * Opens paths that people name, so that no other user can decide where the paths lead.
 *
 * A path can lead through a directory in which another user may write. That user can replace a
 * directory or file on the path by a link, even long after the path was recorded. So a link is
 * followed only under two conditions: it belongs to the caller or to root, and no other user may
 * change the directory that contains the link or a directory above that directory.
 *
 * A directory counts as one that no other user may change if it belongs to the caller or to root,
 * and if it is sticky or only its owner can write in it. The directory's group may write in it too,
 * if the number of the group is both the caller's user number and group number, and if the
 * directory has no access control list. A user who may change a directory on the path can still put
 * directories and files of his own there. These are not links, so the path leads to them.
 */
#ifndef STORE_OWN_LINKS_H
#define STORE_OWN_LINKS_H

#include "base/error.h"

/* Opens a directory and returns a descriptor like that of file_open_place(). If the last name of
 * the path is a link, fails, and the errno in `err` is ELOOP or ENOTDIR. ERR_DENIED without an
 * errno: another name in the path is a link that must not be followed. */
int own_links_dir(const char *path, struct error *err);

/* A rule: a function that checks a directory, which contains a link to a file or the file to which
 * the link leads. Returns 0 if the link may be followed, or -1 with err set. */
typedef int own_links_rule(int dirfd, const char *path, struct error *err);
/*
 * Opens the file like open(2) with O_CLOEXEC, O_NOCTTY and O_NONBLOCK. Because of O_NONBLOCK, a
 * FIFO in place of the file does not block the caller. If the last name of the path is a link,
 * calls `rule` twice: for the directory that contains the link, and for the directory that contains
 * the target file. `rule` may be NULL. ERR_DENIED without an errno: a link must not be followed, or
 * the file has several names (hard links) and another user may have made the name in the path.
 */
int own_links_file(const char *path, int flags, own_links_rule *rule, struct error *err);
/* Opens the file like own_links_file(), but follows no link and has no rule. ERR_DENIED without an
 * errno: the path has a link, or another user may have made this name of the file. */
int own_links_file_direct(const char *path, int flags, struct error *err);

#endif
