/* SPDX-License-Identifier: MIT */
/*
 * Opening the file of a disk by its path. A live supervisor or a virtual machine monitor, which may
 * be taken over, can write to a directory of ours. On a kernel without Landlock it could replace
 * its own disk by a link to the disk of another workspace. So no link is followed in such a
 * directory. Elsewhere a link is followed if it belongs to its user (own_links.h).
 */
#ifndef STORE_DISK_FILE_H
#define STORE_DISK_FILE_H

#include <stdbool.h>

#include "base/error.h"

/* Opens the file. flags are for open(2). O_CLOEXEC, O_NOCTTY and O_NONBLOCK are added, so that a
 * FIFO in the place of the file blocks nobody. direct: no link is followed anywhere. ERR_DENIED:
 * the path has a link that must not be followed. */
int disk_file_open(const char *path, int flags, bool direct, struct error *err);
/* Returns the path of the same file without links. The caller frees the path. Returns NULL with the
 * errors of disk_file_open(). */
char *disk_file_end(const char *path, struct error *err);

#endif
