/* SPDX-License-Identifier: MIT */
/*
 * A root file system in memory. If the config has initrdPath and no rootfsPath, the file at
 * initrdPath is the root. All changes of the guest are lost when the machine ends. The kernel
 * unpacks the segments of an initramfs one after the other into one tree. So microagent appends its
 * own initrd as the last segment, which adds /init and the modules of the kernel.
 */
#ifndef SUPERVISOR_RAM_ROOT_H
#define SUPERVISOR_RAM_ROOT_H

#include <stdint.h>

#include "base/error.h"

/* Checks the file of the root. ERR_INVALID: the file is not an initramfs, or it is too large: the
 * guest's memory must have room for the file twice, since both the file and what was unpacked are
 * in memory during the boot. */
int ram_root_check(int fd, int64_t memory_mib, struct error *err);
/* Makes a file in memory with the contents of the root's file, followed by those of the initrd.
 * Returns its descriptor, which the caller closes, or -1 with an error. */
int ram_root_join(int root_fd, int initrd_fd, struct error *err);

#endif
