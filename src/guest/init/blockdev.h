/* SPDX-License-Identifier: MIT */
/* Finds block devices by the serial number that the host has given them, or by their position in
 * the VMM's list of disks. */
#ifndef GUEST_BLOCKDEV_H
#define GUEST_BLOCKDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define BLOCKDEV_NAME 32

/* Finds the name, such as "vda", of the block device that has this serial number in
 * /sys/block/<name>/serial. If there is no such device yet, waits for it until the deadline, by the
 * kernel's uevents. Fails with ERR_NOT_FOUND when the deadline has passed. `sys` is "/sys" except
 * in tests. */
int blockdev_find(const char *sys, const char *serial, uint64_t deadline_ns,
		  char name[BLOCKDEV_NAME], struct error *err);
/* Finds the name of the disk at the position `place`, counted from 0, in the VMM's list of disks.
 * This is the virtio disk with the letter of the position ("vda" has the position 0), or else the
 * disk with the unit number `place` on the SCSI controller. Returns false if there is no such
 * disk. */
bool blockdev_at(const char *sys, int place, char name[BLOCKDEV_NAME]);

#endif
