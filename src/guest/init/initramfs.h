/* SPDX-License-Identifier: MIT */
#ifndef GUEST_INITRAMFS_H
#define GUEST_INITRAMFS_H

#include "base/error.h"

/* From the kernel's first process in the initramfs to one in the root file system, with everything
 * mounted there. *program_fd is this program's file, which nothing names any more. */
int initramfs_leave(int *program_fd, struct error *err);

/* The same for a reader: the root disk is at READER_ROOT, and nothing of it is used. */
int initramfs_stay(int *program_fd, struct error *err);

#endif
