/* SPDX-License-Identifier: MIT */
/* Finds block devices by the serial number that the host gave them, or by their order. */
#ifndef GUEST_BLOCKDEV_H
#define GUEST_BLOCKDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define BLOCKDEV_NAME 32

/* Finds the name of the device ("vda") that has this serial number in /sys/block/<name>/serial. If
 * there is none yet, waits for the kernel's uevents until the deadline. ERR_NOT_FOUND: the deadline
 * passed. `sys` is "/sys" except in tests. */
int blockdev_find(const char *sys, const char *serial, uint64_t deadline_ns,
		  char name[BLOCKDEV_NAME], struct error *err);
/* Finds the disk number `place`, from 0, in the VMM's order: the virtio disk with that letter (for
 * example, "vda" is number 0), or else the disk of that unit of the SCSI controller. Returns false
 * if there is none. */
bool blockdev_at(const char *sys, int place, char name[BLOCKDEV_NAME]);

#endif
