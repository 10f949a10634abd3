/* SPDX-License-Identifier: MIT */
/*
 * Opening paths that people name, so that no other user can decide where the paths lead.
 *
 * A path can lead through a directory in which another user may write. That user can replace a
 * directory or file of the path by a link, also long after the path was recorded. So a link is
 * followed only if it belongs to the caller or to root, and if nobody else may change the directory
 * that has the link, nor a directory above it. A directory that nobody else may change belongs to
 * the caller or to root, and either nobody else can write in it or it is sticky. Its group may
 * write in it if the group's number is the caller's user number and group number, and if the
 * directory has no access control list. A user who may change a directory can still move own
 * directories and files into it: these are not links, and the path leads to them.
 */
#ifndef STORE_OWN_LINKS_H
#define STORE_OWN_LINKS_H

#include "base/error.h"

/* Opens a directory and returns a descriptor like that of file_open_place(). If the last name of
 * the path is a link, the call fails with errno ELOOP or ENOTDIR. ERR_DENIED without an errno:
 * another name of the path is a link that must not be followed. */
int own_links_dir(const char *path, struct error *err);

/* Checks whether the directory `dirfd` may have a link to a file, or may have the file to which a
 * link leads. Returns 0 if so, -1 with an error if not. */
typedef int own_links_rule(int dirfd, const char *path, struct error *err);
/*
 * Opens the file as open(2) does with O_CLOEXEC, O_NOCTTY and O_NONBLOCK, so that a FIFO in the
 * place of the file blocks nobody. If the last name of the path is a link, `rule` is called for the
 * directory that has the link, and for the directory that has the file to which the link leads.
 * NULL: no rule. ERR_DENIED without an errno: a link must not be followed, or the file has several
 * names and another user may have made this one.
 */
int own_links_file(const char *path, int flags, own_links_rule *rule, struct error *err);
/* Opens the file like own_links_file(), but follows no link at all and has no rule. ERR_DENIED
 * without an errno: the path has a link, or another user may have made this name of the file. */
int own_links_file_direct(const char *path, int flags, struct error *err);

#endif
