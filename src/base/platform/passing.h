/* SPDX-License-Identifier: MIT */
/* Controls who may send descriptors to a Unix socket. */
#ifndef BASE_PLATFORM_PASSING_H
#define BASE_PLATFORM_PASSING_H

/* Makes the kernel refuse (EPERM) each descriptor that is sent from now on to this socket, or to a
 * connection that this socket accepts. Does nothing if the kernel cannot do that (Linux before
 * 6.16, macOS), or if `sock` is not a Unix socket. */
void passing_refuse(int sock);

#endif
