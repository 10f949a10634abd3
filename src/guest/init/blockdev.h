/* SPDX-License-Identifier: MIT */
/* Block devices by the serial number that the host gave them, or by their order. */
#ifndef GUEST_BLOCKDEV_H
#define GUEST_BLOCKDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define BLOCKDEV_NAME 32

/* The device ("vda") whose /sys/block/<name>/serial is this, waited for until the deadline by the
 * kernel's uevents. ERR_NOT_FOUND at the deadline. sys: "/sys" but for tests. */
int blockdev_find(const char *sys, const char *serial, uint64_t deadline_ns,
		  char name[BLOCKDEV_NAME], struct error *err);
/* The disk at that place of the VMM's order, the first being 0: virtio's of that letter, else the
 * one of that unit on the SCSI controller. */
bool blockdev_at(const char *sys, int place, char name[BLOCKDEV_NAME]);

#endif
