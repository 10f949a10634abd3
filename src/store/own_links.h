/* SPDX-License-Identifier: MIT */
/*
 * Opening paths that people name, so that no other user can decide where the paths lead.
 *
 * A path can lead through a directory in which another user may write. That user can put a link in
 * the place of what the path named, also long after the path was recorded. So a link is followed
 * only if it belongs to the caller or to root, and lies in a directory that nobody else may change.
 * Such a directory belongs to the caller or to root, and either nobody else can write in it or it
 * is sticky. Its group may write in it if the number of the group is the number of the caller, and
 * if the directory has no access control list. Below a directory that another user may change, no link
 * is followed. That user can still move directories and files of their own to there.
 */
#ifndef STORE_OWN_LINKS_H
#define STORE_OWN_LINKS_H

#include "base/error.h"

/* Returns a descriptor by which the directory can be named, like that of file_open_place(). The
 * last name of the path may not be a link: ELOOP or ENOTDIR. ERR_DENIED without an errno: the path
 * has a link that is not followed. */
int own_links_dir(const char *path, struct error *err);

/* Checks whether a link in that directory may stand for a file, or whether a link may lead to a
 * file in that directory. Returns -1 if not. */
typedef int own_links_rule(int dirfd, const char *path, struct error *err);
/*
 * Opens the file as open(2) does with O_CLOEXEC, O_NOCTTY and O_NONBLOCK, so that a FIFO in the
 * place of the file blocks nobody. If the last name of the path is a link, `rule` is called for the
 * directory that has the link and for the directory that the link leads to. NULL: no rule.
 * ERR_DENIED without an errno: a link is not followed, or the file has several names, and another
 * user may have made this name.
 */
int own_links_file(const char *path, int flags, own_links_rule *rule, struct error *err);
/* Opens the file like own_links_file(), but follows no link at all. ERR_DENIED without an errno:
 * the path has a link. */
int own_links_file_direct(const char *path, int flags, struct error *err);

#endif
