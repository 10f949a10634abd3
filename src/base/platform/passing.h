/* SPDX-License-Identifier: MIT */
/* Who may send descriptors to a Unix socket. */
#ifndef BASE_PLATFORM_PASSING_H
#define BASE_PLATFORM_PASSING_H

/* Has the kernel refuse (EPERM) each descriptor that somebody sends to this socket from now on, or to
 * a connection that it accepts. Nothing changes where the kernel does not know that (Linux before
 * 6.16, macOS), and for a descriptor that is no Unix socket. */
void passing_refuse(int sock);

#endif
