/* SPDX-License-Identifier: MIT */
/* A user namespace that exists only for its map of ids: an idmapped mount (mount_setattr(2)) shows
 * files under the owners of this map. */
#ifndef BASE_USERNS_HELD_H
#define BASE_USERNS_HELD_H

#include <sys/types.h>

#include "base/error.h"

/* A function that writes the maps of user ids and of group ids of the user namespace of `pid`. */
typedef int userns_mapper(pid_t pid, const void *data, struct error *err);

/* Makes a user namespace, and calls `map` to write its maps. Returns a descriptor that keeps the
 * namespace in existence, which the caller closes; -1 with an error. `what` is a text for error
 * messages that says what the namespace is for. */
int userns_held(userns_mapper *map, const void *data, const char *what, struct error *err);
/* Writes one map of the user namespace of `pid`. `file` is "uid_map" or "gid_map". `lines` is the
 * complete map, because the kernel accepts only one write. */
int userns_write_map(pid_t pid, const char *file, const char *lines, struct error *err);

#endif
