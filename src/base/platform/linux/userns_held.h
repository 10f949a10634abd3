/* SPDX-License-Identifier: MIT */
/* A user namespace that exists only for its map of ids, by which an idmapped mount shows owners
 * (mount_setattr(2)). */
#ifndef BASE_USERNS_HELD_H
#define BASE_USERNS_HELD_H

#include <sys/types.h>

#include "base/error.h"

/* A function that writes both maps of the user namespace of pid. */
typedef int userns_mapper(pid_t pid, const void *data, struct error *err);

/* Makes such a user namespace. Returns a descriptor that keeps it alive; -1 on failure. what says
 * in messages what it is for. */
int userns_held(userns_mapper *map, const void *data, const char *what, struct error *err);
/* Writes one map. file: "uid_map" or "gid_map"; lines: the whole map, which the kernel takes in one
 * write. */
int userns_write_map(pid_t pid, const char *file, const char *lines, struct error *err);

#endif
