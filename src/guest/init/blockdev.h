/* SPDX-License-Identifier: MIT */
/* Finds block devices by the serial number that the host has given them, or by their position in
 * the VMM's order. */
#ifndef GUEST_BLOCKDEV_H
#define GUEST_BLOCKDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define BLOCKDEV_NAME 32

/* Finds the name of the device ("vda") that has this serial number in /sys/block/<name>/serial. If
 * there is no such device yet, waits for the kernel's uevents until the deadline. Fails with
 * ERR_NOT_FOUND when the deadline has passed. `sys` is "/sys" except in tests. */
int blockdev_find(const char *sys, const char *serial, uint64_t deadline_ns,
		  char name[BLOCKDEV_NAME], struct error *err);
/* Finds the disk at the position `place` in the VMM's order, counted from 0. This is the virtio
 * disk with that letter ("vda" is number 0), or else the disk with that unit number on the SCSI
 * controller. Returns false if there is no such disk. */
bool blockdev_at(const char *sys, int place, char name[BLOCKDEV_NAME]);

#endif
