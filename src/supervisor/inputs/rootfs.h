/* SPDX-License-Identifier: MIT */
/* A root file system image as far as the host looks at it: that it is ext4, and all there. */
#ifndef SUPERVISOR_ROOTFS_H
#define SUPERVISOR_ROOTFS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define ROOTFS_HEADER 2048 /* bytes from the start that rootfs_size() wants */

/* The size in bytes that the file system of a superblock claims. Pure. ERR_INVALID for no ext4. */
int rootfs_size(const uint8_t header[ROOTFS_HEADER], uint64_t *size, struct error *err);
/* ERR_INVALID when the file is no ext4 image or shorter than its file system. */
int rootfs_check(int fd, struct error *err);

/* Whether the two bytes are there by which every ext2, ext3 and ext4 file system is known; nothing
 * else of a disk is looked at on the host. */
bool rootfs_has_ext4_magic(int fd);

/* ERR_INVALID for a qcow2 image: as raw its bytes mean nothing to a guest, and as qcow2 it could
 * name any file of the host as its contents. */
int rootfs_refuse_qcow2(int fd, struct error *err);

#endif
