/* SPDX-License-Identifier: MIT */
#ifndef GUEST_INITRAMFS_H
#define GUEST_INITRAMFS_H

#include "base/error.h"

/* Switches from the initramfs to the root file system, and mounts the guest's file systems in it.
 * The caller is the kernel's first process. *program_fd becomes a descriptor of this program's
 * file, which no path names any more. */
int initramfs_leave(int *program_fd, struct error *err);

/* Prepares a machine that is a reader, which stays in the initramfs. Mounts the root disk at
 * READER_ROOT, and runs no program of that disk. *program_fd becomes a descriptor of this program's
 * file. */
int initramfs_stay(int *program_fd, struct error *err);

#endif
