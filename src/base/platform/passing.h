/* SPDX-License-Identifier: MIT */
/* Controls if descriptors can be passed to a Unix socket. */
#ifndef BASE_PLATFORM_PASSING_H
#define BASE_PLATFORM_PASSING_H

/* Makes the kernel refuse, with EPERM, each descriptor that is passed from now on to this socket,
 * or to a connection that this socket accepts. Does nothing if the kernel does not support this
 * (Linux before 6.16, macOS), or if `sock` is not a Unix socket. */
void passing_refuse(int sock);

#endif
