/* SPDX-License-Identifier: MIT */
/*
 * Finds the parent for a workspace's cgroup if the request names none. The parent is an existing
 * group of this host, in which the workspace's group is made. It is the nearest group, from the
 * group of this process upwards, in which this process may make groups and whose children can be
 * limited. The kernel limits no children of a group that itself has processes, except for the
 * topmost group. So the parent is never the group of this process, unless that is the topmost
 * group.
 */
#ifndef SUPERVISOR_CGROUP_FIND_H
#define SUPERVISOR_CGROUP_FIND_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

/* Returns the path of the parent group. The caller frees the path. Returns NULL with an error.
 * ERR_UNAVAILABLE: no group can be the parent, and the message says why. */
char *cgroup_find(struct error *err);

/* Writes the path of the group that this process is in now, for example "/a/b". Returns false if
 * the group is not known. */
bool cgroup_own(char out[PATH_MAX]);

/* Returns the reason why no limits of memory and processes can be set for the children of the
 * group; NULL if such limits can be set. `dir` is the open directory of the group. */
const char *cgroup_limits_obstacle(int dir);

/* Does the work of cgroup_find(); its test calls this function directly. `top` is the directory
 * where the groups are mounted. `own` is the group of this process, as cgroup_own() writes it. If
 * `managed` is true, this process may be able to write to groups that belong to another manager.
 * Then a group counts only if the group itself, or a group above it, was delegated. */
char *cgroup_find_below(const char *top, const char *own, bool managed, struct error *err);

#endif
