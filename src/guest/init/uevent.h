/* SPDX-License-Identifier: MIT */
/* Waits for the kernel's messages about new devices. */
#ifndef GUEST_UEVENT_H
#define GUEST_UEVENT_H

#include <stdint.h>

#include "base/error.h"

/* Returns a socket that gets a message for each device that appears from now on. The caller must
 * look for its device once more after this call. Otherwise the caller misses a device that has
 * appeared before. */
int uevent_open(struct error *err);
/* Waits for a message. Returns 0 when a device may have appeared, or -1 with ERR_TIMEOUT at the
 * deadline. */
int uevent_wait(int fd, uint64_t deadline_ns, struct error *err);

#endif
