/* SPDX-License-Identifier: MIT */
/* Checks of a root file system image by the host: that it is ext4 and complete. */
#ifndef SUPERVISOR_ROOTFS_H
#define SUPERVISOR_ROOTFS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define ROOTFS_HEADER 2048 /* bytes from the start that rootfs_size() needs */

/* Reads from the superblock the size of the file system in bytes. Pure. ERR_INVALID: it is no
 * ext4. */
int rootfs_size(const uint8_t header[ROOTFS_HEADER], uint64_t *size, struct error *err);
/* Returns ERR_INVALID if the file is no ext4 image, or is shorter than its file system. */
int rootfs_check(int fd, struct error *err);

/* Returns whether the file has the two bytes that mark every ext2, ext3 and ext4 file system. The
 * host looks at nothing else of a disk. */
bool rootfs_has_ext4_magic(int fd);

/* Returns ERR_INVALID for a qcow2 image. Its bytes mean nothing to a guest as a raw disk. As qcow2
 * it could name any file of the host as its contents. */
int rootfs_refuse_qcow2(int fd, struct error *err);

#endif
