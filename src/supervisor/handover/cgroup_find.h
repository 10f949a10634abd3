/* SPDX-License-Identifier: MIT */
/*
 * Finds the place for a workspace's cgroup if the request names none. The place is a group of this
 * host, in which the workspace's own group is made. It is the nearest group, from the group of this
 * process upwards, in which this process may make groups and whose children can be limited. The
 * kernel limits no children of a group that has processes of its own, except the topmost group. So
 * the place is never the group of this process, unless that is the topmost group.
 */
#ifndef SUPERVISOR_CGROUP_FIND_H
#define SUPERVISOR_CGROUP_FIND_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

/* Returns the path of the place. The caller frees it. Returns NULL with an error. ERR_UNAVAILABLE:
 * there is no such place, and the message says why. */
char *cgroup_find(struct error *err);

/* Writes the path of the group that this process is in now: "/a/b". Returns false if the group is
 * not known. */
bool cgroup_own(char out[PATH_MAX]);

/* Returns why no limits of memory and processes can be set for the children of the group; NULL if
 * they can be set. `dir` is the open directory of the group. */
const char *cgroup_limits_obstacle(int dir);

/* Does the work of cgroup_find(), also for its test. `top` is the directory where the groups are
 * mounted. `own` is the group of this process, as cgroup_own() writes it. If `managed` is true,
 * this process may be able to write to groups that belong to another manager. Then a group counts
 * only if the group itself, or a group above it, was delegated. */
char *cgroup_find_below(const char *top, const char *own, bool managed, struct error *err);

#endif
