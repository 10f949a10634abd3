/* SPDX-License-Identifier: MIT */
/* Mounts the file systems of the guest. */
#ifndef GUEST_MOUNTS_H
#define GUEST_MOUNTS_H

#include "base/error.h"

/* Mounts proc, sysfs and devtmpfs in the initramfs, and opens the console as the file descriptors
 * 0, 1 and 2. */
int mounts_early(struct error *err);
/* Opens the console again as the file descriptors 0, 1 and 2. Called after the kernel modules were
 * loaded, since the driver of the console may be one of them. */
int mounts_console(struct error *err);
/* Unmounts what mounts_early() has mounted. Must be called before the root is switched, since the
 * mount points have no path after that. */
void mounts_early_end(void);
/* Mounts each of the guest's file systems, such as /proc, in the root file system, and creates
 * missing directories. If a mount fails, prints a line on the console and continues, since the
 * machine is useful without this file system. */
void mounts_root(void);
/* Writes the changed data of each file system on a block device to the disk, and makes the file
 * system read-only. Begins with the file system that was mounted last. Never calls sync(), which
 * would wait for ever for a share whose server is gone. */
void mounts_end(void);
/* Writes all changed data to the disks, but unlike mounts_end() leaves the file systems
 * writable. */
int mounts_write_back(struct error *err);
/* Returns the mount point in a line of /proc/self/mountinfo, or NULL if no block device is mounted
 * there. Changes `line`, and the result points into `line`. The function is public so that tests
 * can call it. */
char *mounts_block_path(char *line);

#endif
