/* SPDX-License-Identifier: MIT */
/*
 * The system call filter of a program that serves a shared directory.
 *
 * The program cannot give a file a set-user-ID bit, a set-group-ID bit or a capability, for any
 * user. On the host, a file that the guest's uid 1000 makes in the share belongs to the user who
 * has started the workspace. If the file had such a bit, everyone who can execute it would get the
 * rights of that user. A capability of a file that belongs to root is a right of root. Such a
 * capability is valid in the user namespace whose root has the id that the capability names
 * (security.capability, capabilities(7)). If root starts the machine, uid 1000 of the share's
 * namespace is the host's root.
 *
 * Calls that give a file its mode are refused (EPERM) if the mode has one of these bits. All calls
 * that set or remove an extended attribute are refused too, since a share has no such attributes.
 * The filter cannot look into the arguments of openat2() and io_uring, so these fail with ENOSYS. A
 * filter sees only the mode and not the file, so chmod() of a directory with the set-group-ID bit
 * is refused too. mkdir(2) ignores this bit, and a directory that inherits the bit keeps it. When
 * an existing file is written, the kernel removes its bits.
 *
 * In a directory of containers, files have the modes and capabilities of their images. The rules
 * about set-user-ID bits, set-group-ID bits and attributes do not hold for such a directory.
 *
 * With any directory the program can make no socket and no namespace. The program could pass a
 * socket to the VMM and to the live supervisor. In a new user namespace the program would have all
 * capabilities. The program can bind or connect no socket, not even by MSG_FASTOPEN, since another
 * process may have passed it a socket of the host's network.
 */
#ifndef BACKEND_PARTS_SHARE_FILTER_H
#define BACKEND_PARTS_SHARE_FILTER_H

#include <stdbool.h>

#include "base/error.h"

/* Makes a file with the compiled filter, for bwrap's option --seccomp. The position of the file is
 * its beginning. `containers` is true if the directory has root file systems of containers. The
 * caller closes *fd. */
int share_filter_open(bool containers, int *fd, struct error *err);

#endif
