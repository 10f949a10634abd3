/* SPDX-License-Identifier: MIT */
/*
 * Finds places below a container's root, which is hostile: whatever links lie there, a path is
 * resolved as the container would resolve it, and nothing outside of root is reached (openat2(2),
 * RESOLVE_IN_ROOT). root is a descriptor of the directory.
 */
#ifndef GUEST_PLACE_H
#define GUEST_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Returns an O_PATH descriptor; -1 with ERR_NOT_FOUND or another error. */
int place_open(int root, const char *path, struct error *err);
/* Opens a path like place_open(), and makes the missing parts of the path: directories, and the
 * last component as an empty file if `file` is true. */
int place_make(int root, const char *path, bool file, struct error *err);

/* Writes the name under which mount(2) accepts a descriptor. */
#define PLACE_NAME 32
void place_name(int fd, char out[PLACE_NAME]);

#endif
