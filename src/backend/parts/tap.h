/* SPDX-License-Identifier: MIT */
/* A tap interface on a bridge of the host, which is gone when its descriptor is closed. */
#ifndef BACKEND_PARTS_TAP_H
#define BACKEND_PARTS_TAP_H

#include <stdbool.h>

#include "base/error.h"

/* The descriptor. ERR_UNAVAILABLE or ERR_DENIED when tap_check() would say so. */
int tap_open(const char *bridge, struct error *err);
/* Whether it could be opened, without doing it: the bridge, /dev/net/tun, CAP_NET_ADMIN. bridge
 * NULL: any. */
int tap_check(const char *bridge, struct error *err);
/* Takes the interface of a tap down, so that no frame passes in either direction, whoever has the
 * tap open and goes on using it. control: a socket of its network namespace, -1: that is ours.
 * False: it is up still, or fd is no tap of that namespace. */
bool tap_take_down(int fd, int control);

#endif
