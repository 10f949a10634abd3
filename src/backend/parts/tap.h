/* SPDX-License-Identifier: MIT */
/* A tap interface on a bridge of the host. The interface is gone when its descriptor is closed. */
#ifndef BACKEND_PARTS_TAP_H
#define BACKEND_PARTS_TAP_H

#include <stdbool.h>

#include "base/error.h"

/* Opens a tap on the bridge and returns its descriptor. The errors are those of tap_check(). */
int tap_open(const char *bridge, struct error *err);
/* Checks whether a tap could be opened, without opening one. ERR_INVALID: `bridge` is no name of an
 * interface, or the interface is no bridge. ERR_NOT_FOUND: there is no such interface.
 * ERR_UNAVAILABLE: there is no /dev/net/tun. ERR_DENIED: this process has no CAP_NET_ADMIN. If
 * `bridge` is NULL, no bridge is checked. */
int tap_check(const char *bridge, struct error *err);
/* Takes the interface of a tap down. After this no frame passes in either direction, also if a
 * process still has the tap open and uses it. `control` is a socket of the tap's network namespace;
 * -1: the tap is in the namespace of this process. Returns false if the interface is still up, or
 * if `fd` is not a tap in the network namespace of `control`. */
bool tap_take_down(int fd, int control);

#endif
