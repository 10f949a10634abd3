/* SPDX-License-Identifier: MIT */
/*
 * Finds files and directories below a container's root. The links in this root are not trusted,
 * since they may lead anywhere. A path is resolved as a process of the container would resolve it,
 * so that no link leads out of the root (openat2(2), RESOLVE_IN_ROOT). `root` is a file descriptor
 * of the root directory.
 */
#ifndef GUEST_PLACE_H
#define GUEST_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Returns an O_PATH file descriptor of the path, which the caller closes. Returns -1 with
 * ERR_NOT_FOUND if the path does not exist, and -1 with another error if it cannot be opened. */
int place_open(int root, const char *path, struct error *err);
/* Opens a path like place_open(), and creates missing components as directories. If `file` is true,
 * a missing last component becomes an empty file. */
int place_make(int root, const char *path, bool file, struct error *err);

/* Writes a path of the form /proc/self/fd/N to `out`, so that mount(2) can use the file of the
 * descriptor `fd`. */
#define PLACE_NAME 32
void place_name(int fd, char out[PLACE_NAME]);

#endif
