/* SPDX-License-Identifier: MIT */
#ifndef GUEST_INITRAMFS_H
#define GUEST_INITRAMFS_H

#include "base/error.h"

/* Goes from the initramfs to the root file system, with everything mounted there. The caller is the
 * kernel's first process. *program_fd is this program's file, which has no name any more. */
int initramfs_leave(int *program_fd, struct error *err);

/* Stays in the initramfs for a reader: the root disk is mounted at READER_ROOT, and nothing of it
 * is used. */
int initramfs_stay(int *program_fd, struct error *err);

#endif
