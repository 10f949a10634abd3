/* SPDX-License-Identifier: MIT */
/*
 * A root in memory: with initrdPath and without rootfsPath the initial RAM disk is the root, and
 * the guest changes nothing that lasts. The kernel unpacks segments of an initramfs one behind the
 * other into one tree, so that our own, put last, brings /init and the modules of the kernel.
 */
#ifndef SUPERVISOR_RAM_ROOT_H
#define SUPERVISOR_RAM_ROOT_H

#include <stdint.h>

#include "base/error.h"

/* ERR_INVALID for what is no initramfs, or is too large for the guest to hold it twice, as it must
 * while it unpacks it. */
int ram_root_check(int fd, int64_t memory_mib, struct error *err);
/* Both files, one behind the other, in memory. */
int ram_root_join(int root_fd, int initrd_fd, struct error *err);

#endif
