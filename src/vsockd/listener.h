/* SPDX-License-Identifier: MIT */
/* The listening and connected sockets that the daemon makes or inherits. */
#ifndef VSOCKD_LISTENER_H
#define VSOCKD_LISTENER_H

#include <stdbool.h>

#include "base/error.h"

/* Makes a socket at `path`, with mode 0600, and listens at it. Replaces a socket at which no
 * process listens. Returns a non-blocking descriptor, or -1 with an error. ERR_CONFLICT: another
 * process listens at `path`, or the file at `path` is not a socket. */
int listener_open(const char *path, struct error *err);
/* Checks an inherited descriptor. The descriptor must be a stream socket. If `listens` is true the
 * socket must listen, else it must not listen (ERR_INVALID). Makes the descriptor non-blocking and
 * close-on-exec. */
int listener_check(int fd, bool listens, struct error *err);

#endif
