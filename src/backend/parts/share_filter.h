/* SPDX-License-Identifier: MIT */
/*
 * The system call filter of what serves a shared directory.
 *
 * By a program that serves a share no file gets a set-user-ID bit, a set-group-ID bit or a
 * capability, whoever asks. What a guest's uid 1000 makes there is the invoking user's on the host.
 * A program with such a bit would be a way into that user's account for whoever can start it. A
 * capability on a file of root's is a right of root's: it holds in the namespace in which the id
 * that it names is root (security.capability, capabilities(7)), and where root starts the machine
 * uid 1000 of the share's namespace is the host's root.
 *
 * The calls that give a file its mode are refused when one of the bits is in it (EPERM), and so are
 * all calls that set or remove an attribute, which a share does not have. openat2 and io_uring, into
 * which the filter cannot look, do not exist (ENOSYS). A filter sees no file, only the mode: a
 * directory's set-group-ID bit is refused by chmod too; mkdir(2) ignores it, and the one that a
 * directory inherits stays. The bits that a file has already go at the first write, by the kernel.
 *
 * In a directory of containers files have the modes and capabilities of their images, and these two
 * rules do not hold.
 *
 * In both no socket is made and no namespace. A socket could be handed on to the VMM and the live
 * supervisor, and in a new user namespace the program would have all capabilities. No socket is
 * bound or connected, be it by MSG_FASTOPEN: the program may be handed one of the host's network.
 */
#ifndef BACKEND_PARTS_SHARE_FILTER_H
#define BACKEND_PARTS_SHARE_FILTER_H

#include <stdbool.h>

#include "base/error.h"

/* The compiled filter as a file, from its beginning, for bwrap's --seccomp. containers: the
 * directory is one of containers. The caller closes fd. */
int share_filter_open(bool containers, int *fd, struct error *err);

#endif
