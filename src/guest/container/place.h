/* SPDX-License-Identifier: MIT */
/*
 * Finds files and directories below a container's root, which is hostile. A path is resolved as the
 * container would resolve it, whatever links are on the way. Nothing outside of the root is reached
 * (openat2(2), RESOLVE_IN_ROOT). `root` is a descriptor of the directory.
 */
#ifndef GUEST_PLACE_H
#define GUEST_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Returns an O_PATH descriptor of the path. Returns -1 with ERR_NOT_FOUND if the path does not
 * exist, or -1 with another error. */
int place_open(int root, const char *path, struct error *err);
/* Opens a path like place_open(), and makes its missing components. They become directories. The
 * last component becomes an empty file if `file` is true. */
int place_make(int root, const char *path, bool file, struct error *err);

/* Writes a name of the descriptor that mount(2) accepts as a path. */
#define PLACE_NAME 32
void place_name(int fd, char out[PLACE_NAME]);

#endif
