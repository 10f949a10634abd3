/* SPDX-License-Identifier: MIT */
/* A tap interface on a bridge of the host. The interface disappears when its descriptor is
 * closed. */
#ifndef BACKEND_PARTS_TAP_H
#define BACKEND_PARTS_TAP_H

#include <stdbool.h>

#include "base/error.h"

/* Opens a tap on the bridge and returns its descriptor. Fails with the same errors as
 * tap_check(). */
int tap_open(const char *bridge, struct error *err);
/* Checks whether a tap could be opened, without opening one. ERR_INVALID: `bridge` is not a valid
 * name of an interface, or the interface is not a bridge. ERR_NOT_FOUND: there is no such
 * interface. ERR_UNAVAILABLE: there is no /dev/net/tun. ERR_DENIED: this process has no
 * CAP_NET_ADMIN. If `bridge` is NULL, no bridge is checked. */
int tap_check(const char *bridge, struct error *err);
/* Takes the interface of the tap `fd` down. After that no frame passes in either direction, even if
 * another process has the tap open and uses it. `control` is a socket in the tap's network
 * namespace. If it is -1, the tap is in the namespace of this process. Returns false if the
 * interface is still up, or if `fd` is not a tap in that namespace. */
bool tap_take_down(int fd, int control);

#endif
