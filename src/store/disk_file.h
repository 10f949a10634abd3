/* SPDX-License-Identifier: MIT */
/*
 * Opens the file of a disk by its path. A guest may take over the live supervisor or the VMM of its
 * machine. These processes can write to the directory of their workspace. On a kernel without
 * Landlock, they could replace the machine's disk by a link to the disk of another workspace. So no
 * link inside a state directory or a cache is followed. own_links.h describes which other links are
 * followed.
 */
#ifndef STORE_DISK_FILE_H
#define STORE_DISK_FILE_H

#include <stdbool.h>

#include "base/error.h"

/* Opens the file. `flags` are the flags of open(2), to which O_CLOEXEC, O_NOCTTY and O_NONBLOCK are
 * added. Because of O_NONBLOCK, a FIFO in place of the file does not block the caller. If `direct`
 * is true, no link on the whole path is followed. ERR_DENIED: the path has a link that must not be
 * followed. */
int disk_file_open(const char *path, int flags, bool direct, struct error *err);
/* Returns the path, without links, of the file that disk_file_open() would open. The caller frees
 * the path. Returns NULL with the errors of disk_file_open() on failure. */
char *disk_file_end(const char *path, struct error *err);

#endif
