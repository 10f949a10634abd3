/* SPDX-License-Identifier: MIT */
/*
 * Paths that people name, opened so that no other user has a say in where they lead.
 *
 * What is named may lie in another user's directory, or in one that several write to. Whoever may
 * write there can put a link in the place of what was meant, also long after a path was recorded.
 * So a link is followed only if it is the caller's or root's, and lies in a directory that nobody
 * else may change: that too is one of theirs, and others do not write there unless it is sticky. A
 * group with the caller's own number may, where no access control list lets others do so. Below a directory that somebody else may change none is
 * followed. What he can still put there are directories and files that he may move there himself.
 */
#ifndef STORE_OWN_LINKS_H
#define STORE_OWN_LINKS_H

#include "base/error.h"

/* A descriptor to name the directory by, as file_open_place() gives it. The last name may be no
 * link: ELOOP or ENOTDIR. ERR_DENIED without an errno: a link that is not followed. */
int own_links_dir(const char *path, struct error *err);

/* Whether a link in that directory may stand for the file; -1. */
typedef int own_links_rule(int dirfd, const char *path, struct error *err);
/*
 * The file, as by open(2) with O_CLOEXEC, O_NOCTTY and O_NONBLOCK (a FIFO in its place holds nobody
 * up). rule: asked before the last name, if it is a link, is followed; NULL: there is none. Also
 * ERR_DENIED without an errno: a file with several names, of which another user may have made this
 * one.
 */
int own_links_file(const char *path, int flags, own_links_rule *rule, struct error *err);

#endif
