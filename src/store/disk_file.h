/* SPDX-License-Identifier: MIT */
/*
 * The file of a disk, opened by its path. A directory of ours is written to by what may be taken
 * over, a live supervisor or a virtual machine monitor: on a kernel without Landlock one could put
 * a link to the disk of another workspace in the place of its own. So no link is followed there.
 * Elsewhere a link that is its user's own is (own_links.h).
 */
#ifndef STORE_DISK_FILE_H
#define STORE_DISK_FILE_H

#include <stdbool.h>

#include "base/error.h"

/* flags: of open(2), beside O_CLOEXEC, O_NOCTTY and O_NONBLOCK (a FIFO in a file's place holds
 * nobody up). direct: no link is followed anywhere. ERR_DENIED: it is a link there. */
int disk_file_open(const char *path, int flags, bool direct, struct error *err);
/* Where the path leads, without links, malloc'd; NULL: errors of disk_file_open(). */
char *disk_file_end(const char *path, struct error *err);

#endif
