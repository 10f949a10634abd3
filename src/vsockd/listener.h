/* SPDX-License-Identifier: MIT */
/* The sockets the daemon is given or makes. */
#ifndef VSOCKD_LISTENER_H
#define VSOCKD_LISTENER_H

#include <stdbool.h>

#include "base/error.h"

/* Listens at path, mode 0600. The socket of a daemon that is no more is replaced; ERR_CONFLICT when
 * somebody listens there. Returns a non-blocking descriptor or -1. */
int listener_open(const char *path, struct error *err);
/* An inherited descriptor is a Unix stream socket, listening or not as it should be. Made
 * non-blocking. */
int listener_check(int fd, bool listens, struct error *err);

#endif
