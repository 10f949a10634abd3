/* SPDX-License-Identifier: MIT */
/*
 * Paths that people name, opened so that no other user has a say in where they lead.
 *
 * A path can lead through a directory in which another user may write. That user can put a link in the
 * place of what the path named, also long after the path was recorded. So a link is followed only
 * if it belongs to the caller or to root, and lies in a directory that nobody else may change. Such a
 * directory belongs to the caller or to root, and other users cannot write there, or it is sticky. A
 * group with the caller's own number may write there, unless the directory has an access control
 * list. Below a directory that another user may change no link is followed. There that user can
 * still put directories and files that he may move there himself.
 */
#ifndef STORE_OWN_LINKS_H
#define STORE_OWN_LINKS_H

#include "base/error.h"

/* A descriptor to name the directory by, as file_open_place() gives it. The last name may be no
 * link: ELOOP or ENOTDIR. ERR_DENIED without an errno: a link that is not followed. */
int own_links_dir(const char *path, struct error *err);

/* Whether a link may stand for the file that lies in that directory, or lead to one there; -1. */
typedef int own_links_rule(int dirfd, const char *path, struct error *err);
/*
 * The file, as by open(2) with O_CLOEXEC, O_NOCTTY and O_NONBLOCK (a FIFO in its place holds nobody
 * up). rule: asked, where the last name is a link, of the directory that the link lies in and of the
 * one that it leads to; NULL: there is none. Also ERR_DENIED without an errno: a file with several
 * names, of which another user may have made this one.
 */
int own_links_file(const char *path, int flags, own_links_rule *rule, struct error *err);
/* The same by no link at all: ERR_DENIED, without an errno, where one is on the way. */
int own_links_file_direct(const char *path, int flags, struct error *err);

#endif
