/* SPDX-License-Identifier: MIT */
/*
 * Places below a container's root, which is hostile: whatever links lie there, a path is resolved
 * as the container would, and nothing outside of root is reached (openat2(2), RESOLVE_IN_ROOT).
 * root: a descriptor of the directory.
 */
#ifndef GUEST_PLACE_H
#define GUEST_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* An O_PATH descriptor, or -1 with ERR_NOT_FOUND and the like. */
int place_open(int root, const char *path, struct error *err);
/* The same; what is missing is made: directories, and of the last component an empty file where
 * `file`. */
int place_make(int root, const char *path, bool file, struct error *err);

/* The name by which mount(2) takes a descriptor. */
#define PLACE_NAME 32
void place_name(int fd, char out[PLACE_NAME]);

#endif
