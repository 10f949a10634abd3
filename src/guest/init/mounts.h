/* SPDX-License-Identifier: MIT */
/* Mounts the file systems of the guest. */
#ifndef GUEST_MOUNTS_H
#define GUEST_MOUNTS_H

#include "base/error.h"

/* Mounts proc, sysfs and devtmpfs in the initramfs, and opens the console as descriptors 0, 1 and
 * 2. */
int mounts_early(struct error *err);
/* Opens the console again as descriptors 0, 1 and 2. The driver of the console may not have been
 * loaded yet at mounts_early(). */
int mounts_console(struct error *err);
/* Undoes mounts_early(). Must be called before the root is switched. */
void mounts_early_end(void);
/* Mounts each of the guest's file systems in the root file system, and makes missing directories.
 * If a mount fails, prints a line on the console and goes on, since the machine is useful without
 * this file system. */
void mounts_root(void);
/* Writes every file system on a block device back and makes it read-only, beginning with the one
 * that was mounted last. Never calls sync(), which would wait for ever for a share whose server is
 * gone. */
void mounts_end(void);
/* Writes all changed data to the disks. The file systems stay mounted and writable. */
int mounts_write_back(struct error *err);
/* Returns the mount point that a line of mountinfo names if a block device is mounted there, else
 * NULL. Changes `line`, in which the result lies. The function is public for tests. */
char *mounts_block_path(char *line);

#endif
