/* SPDX-License-Identifier: MIT */
/* A tap interface on a bridge of the host. The interface is gone when its descriptor is closed. */
#ifndef BACKEND_PARTS_TAP_H
#define BACKEND_PARTS_TAP_H

#include <stdbool.h>

#include "base/error.h"

/* Opens a tap on the bridge and returns its descriptor. ERR_UNAVAILABLE or ERR_DENIED in the cases
 * in which tap_check() fails. */
int tap_open(const char *bridge, struct error *err);
/* Checks whether a tap could be opened, without opening it: the bridge, /dev/net/tun,
 * CAP_NET_ADMIN. bridge NULL: any bridge. */
int tap_check(const char *bridge, struct error *err);
/* Takes the interface of a tap down. Then no frame passes in either direction, even if some process
 * has the tap open and goes on using it. control: a socket of the tap's network namespace; -1: it
 * is our own namespace. Returns false if the interface is still up, or if fd is no tap of that
 * namespace. */
bool tap_take_down(int fd, int control);

#endif
