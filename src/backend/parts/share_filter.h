/* SPDX-License-Identifier: MIT */
/*
 * The system call filter of a program that serves a shared directory.
 *
 * Such a program cannot give a file a set-user-ID bit, a set-group-ID bit or a capability, for any
 * user. A file that the guest's uid 1000 makes there belongs on the host to the user who started
 * the workspace. If the file had such a bit, everyone who can start it could get into that user's
 * account. A capability on a file of root is a right of root. It holds in the namespace in which
 * the id that it names is root (security.capability, capabilities(7)). If root starts the machine,
 * uid 1000 of the share's namespace is the host's root.
 *
 * The calls that give a file its mode are refused if one of the bits is in it (EPERM). So are all
 * calls that set or remove an attribute, which a share does not have. The filter cannot look into
 * openat2 and io_uring, so they do not exist (ENOSYS). A filter sees only the mode, and not the
 * file: chmod also refuses a directory's set-group-ID bit. mkdir(2) ignores this bit, and a
 * directory that inherits the bit keeps it. The kernel removes the bits that a file already has at
 * the first write.
 *
 * In a directory of containers the files have the modes and capabilities of their images, and these
 * two rules do not hold.
 *
 * In both cases no socket and no namespace can be made. A socket could be handed on to the VMM and
 * the live supervisor. In a new user namespace the program would have all capabilities. No socket
 * can be bound or connected, not even by MSG_FASTOPEN: the program may be handed a socket of the
 * host's network.
 */
#ifndef BACKEND_PARTS_SHARE_FILTER_H
#define BACKEND_PARTS_SHARE_FILTER_H

#include <stdbool.h>

#include "base/error.h"

/* Makes the compiled filter as a file, positioned at its beginning, for bwrap's --seccomp.
 * containers: the directory is one of containers. The caller closes *fd. */
int share_filter_open(bool containers, int *fd, struct error *err);

#endif
