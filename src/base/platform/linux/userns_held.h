/* SPDX-License-Identifier: MIT */
/* A user namespace that is there for its map of ids alone, by which an idmapped mount shows owners
 * (mount_setattr(2)). */
#ifndef BASE_USERNS_HELD_H
#define BASE_USERNS_HELD_H

#include <sys/types.h>

#include "base/error.h"

/* Writes both maps of the user namespace that pid is in. */
typedef int userns_mapper(pid_t pid, const void *data, struct error *err);

/* Its descriptor, by which it lives; -1. what: for what it is, in messages. */
int userns_held(userns_mapper *map, const void *data, const char *what, struct error *err);
/* file: "uid_map" or "gid_map"; lines: the whole of it, as the kernel takes it at once. */
int userns_write_map(pid_t pid, const char *file, const char *lines, struct error *err);

#endif
