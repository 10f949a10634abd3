/* SPDX-License-Identifier: MIT */
/* Waits for the kernel's messages about new devices. */
#ifndef GUEST_UEVENT_H
#define GUEST_UEVENT_H

#include <stdint.h>

#include "base/error.h"

/* Returns a socket that gets a message for each new device from now on. The caller must open the
 * socket before it looks for a device for the first time. Otherwise it could miss the device. */
int uevent_open(struct error *err);
/* Waits for a message. Returns 0 when a device may have come, or -1 with ERR_TIMEOUT at the
 * deadline. */
int uevent_wait(int fd, uint64_t deadline_ns, struct error *err);

#endif
