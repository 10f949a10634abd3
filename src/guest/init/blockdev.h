/* SPDX-License-Identifier: MIT */
/* Finds block devices by the serial number that the host gave them, or by their order. */
#ifndef GUEST_BLOCKDEV_H
#define GUEST_BLOCKDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define BLOCKDEV_NAME 32

/* Finds the device ("vda") whose /sys/block/<name>/serial is this. Waits for it with the kernel's
 * uevents, and fails with ERR_NOT_FOUND at the deadline. sys is "/sys" except in tests. */
int blockdev_find(const char *sys, const char *serial, uint64_t deadline_ns,
		  char name[BLOCKDEV_NAME], struct error *err);
/* Finds the disk at that place in the VMM's order, which begins with 0: the virtio disk of that
 * letter, or else the disk of that unit on the SCSI controller. */
bool blockdev_at(const char *sys, int place, char name[BLOCKDEV_NAME]);

#endif
