/* SPDX-License-Identifier: MIT */
/* The listening and connected sockets that the daemon makes or inherits. */
#ifndef VSOCKD_LISTENER_H
#define VSOCKD_LISTENER_H

#include <stdbool.h>

#include "base/error.h"

/* Makes a socket at `path`, with mode 0600, and listens at it. Replaces a socket at which no
 * process listens any more. Returns a non-blocking descriptor, or -1 with an error. ERR_CONFLICT:
 * another process listens at `path`, or the file at `path` is no socket. */
int listener_open(const char *path, struct error *err);
/* Checks that an inherited descriptor is a stream socket, and whether it listens: if `listens` is
 * true it must listen, otherwise it must not listen (else ERR_INVALID). Makes the descriptor
 * non-blocking and close-on-exec. */
int listener_check(int fd, bool listens, struct error *err);

#endif
