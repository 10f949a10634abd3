/* SPDX-License-Identifier: MIT */
/* What is mounted where. */
#ifndef GUEST_MOUNTS_H
#define GUEST_MOUNTS_H

#include "base/error.h"

/* proc, sysfs and devtmpfs in the initramfs, and the console as descriptors 0, 1 and 2. */
int mounts_early(struct error *err);
/* The console again, as those descriptors: the first may have been opened before its driver was
 * there.
 */
int mounts_console(struct error *err);
/* Undone before the root is switched. */
void mounts_early_end(void);
/* In the root file system: missing directories are made, and each of our file systems is mounted.
 * One that cannot be is said on the console and left out: the machine is of use without it. */
void mounts_root(void);
/* For every block file system, last mounted first: what is dirty goes to the disk, then read-only.
 * Never sync(), which a share without a server would hold for ever. */
void mounts_end(void);
/* What is dirty goes to the disks, and nothing ends. */
int mounts_write_back(struct error *err);
/* The mount point in a line of mountinfo (changed in place) if a block device is mounted there,
 * else NULL. For tests. */
char *mounts_block_path(char *line);

#endif
