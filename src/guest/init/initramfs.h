/* SPDX-License-Identifier: MIT */
#ifndef GUEST_INITRAMFS_H
#define GUEST_INITRAMFS_H

#include "base/error.h"

/* Switches from the initramfs to the root file system, and mounts the guest's file systems in it.
 * Must be called by the first process of the kernel. Sets *program_fd to a file descriptor of this
 * program's file, which has no path any more. */
int initramfs_leave(int *program_fd, struct error *err);

/* Prepares a machine that is a reader. A reader only lets the host read and write files of the root
 * disk, and its root file system is the initramfs. Mounts the root disk at READER_ROOT, and runs no
 * program of that disk. Sets *program_fd to a file descriptor of this program's file. */
int initramfs_stay(int *program_fd, struct error *err);

#endif
