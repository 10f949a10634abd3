/* SPDX-License-Identifier: MIT */
/* The listening and connected sockets that the daemon is given or makes. */
#ifndef VSOCKD_LISTENER_H
#define VSOCKD_LISTENER_H

#include <stdbool.h>

#include "base/error.h"

/* Listens at path, with mode 0600. Replaces the socket of a daemon that has ended. Returns a
 * non-blocking descriptor; -1 with an error, which is ERR_CONFLICT if another process listens
 * there. */
int listener_open(const char *path, struct error *err);
/* Checks that an inherited descriptor is a Unix stream socket, and that it is listening or not, as
 * `listens` says. Makes it non-blocking. */
int listener_check(int fd, bool listens, struct error *err);

#endif
