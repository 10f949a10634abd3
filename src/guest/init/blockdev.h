/* SPDX-License-Identifier: MIT */
/* Block devices by the serial number that the host gave them, or by their order. */
#ifndef GUEST_BLOCKDEV_H
#define GUEST_BLOCKDEV_H

#include <stdint.h>

#include "base/error.h"

#define BLOCKDEV_NAME 32

/* The device ("vda") whose /sys/block/<name>/serial is this, waited for until the deadline by the
 * kernel's uevents. ERR_NOT_FOUND at the deadline. sys: "/sys" but for tests. */
int blockdev_find(const char *sys, const char *serial, uint64_t deadline_ns,
		  char name[BLOCKDEV_NAME], struct error *err);

#endif
