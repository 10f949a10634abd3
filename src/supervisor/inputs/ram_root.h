/* SPDX-License-Identifier: MIT */
/*
 * A root file system in memory. If the config has initrdPath and no rootfsPath, the initial RAM
 * disk is the root, and the guest changes nothing that lasts. The kernel unpacks the segments of an
 * initramfs one after the other into one tree. So our own segment, put last, brings /init and the
 * modules of the kernel.
 */
#ifndef SUPERVISOR_RAM_ROOT_H
#define SUPERVISOR_RAM_ROOT_H

#include <stdint.h>

#include "base/error.h"

/* Checks the file. ERR_INVALID: it is no initramfs, or it is too large for the guest, which must
 * hold it twice in memory while it unpacks it. */
int ram_root_check(int fd, int64_t memory_mib, struct error *err);
/* Returns a descriptor of a file in memory that has both files, one after the other. */
int ram_root_join(int root_fd, int initrd_fd, struct error *err);

#endif
