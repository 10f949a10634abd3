/* SPDX-License-Identifier: MIT */
/* Waits for the kernel's messages that a device has come. */
#ifndef GUEST_UEVENT_H
#define GUEST_UEVENT_H

#include <stdint.h>

#include "base/error.h"

/* Returns a socket that hears of devices from now on. The caller opens it before it first looks for
 * the device. */
int uevent_open(struct error *err);
/* Returns 0 when there is a reason to look again; -1 with ERR_TIMEOUT at the deadline. */
int uevent_wait(int fd, uint64_t deadline_ns, struct error *err);

#endif
