/* SPDX-License-Identifier: MIT */
/* Checks whether the image of a root file system is ext4 and complete. */
#ifndef SUPERVISOR_ROOTFS_H
#define SUPERVISOR_ROOTFS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The number of bytes that rootfs_size() needs, from the start of the file. */
#define ROOTFS_HEADER 2048

/* Reads the size of the file system, in bytes, from its superblock in `header`. Reads no file.
 * ERR_INVALID: the file system is not ext4. */
int rootfs_size(const uint8_t header[ROOTFS_HEADER], uint64_t *size, struct error *err);
/* Checks the file. ERR_INVALID: the file is not an ext4 image, or is shorter than its file
 * system. */
int rootfs_check(int fd, struct error *err);

/* Returns true if the file has the two bytes that mark every ext2, ext3 and ext4 file system. For a
 * disk other than the root disk, the host checks nothing else of the file system. */
bool rootfs_has_ext4_magic(int fd);

/* Checks that the file is not a qcow2 image. ERR_INVALID: it is a qcow2 image. A guest that gets a
 * qcow2 image as a raw disk finds no file system on it. A VMM that opened it as a qcow2 disk could
 * be led to read any file of the host, since such an image can name a file as its base. */
int rootfs_refuse_qcow2(int fd, struct error *err);

#endif
