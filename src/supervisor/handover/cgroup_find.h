/* SPDX-License-Identifier: MIT */
/*
 * Finds the place for a workspace's cgroup if the request names none. The place is the nearest
 * group, from our own one upwards, in which we may make groups and whose children can be limited.
 * The kernel limits no children of a group that has processes of its own, except of the topmost
 * group. So the place is never our own group, unless that is the topmost one.
 */
#ifndef SUPERVISOR_CGROUP_FIND_H
#define SUPERVISOR_CGROUP_FIND_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

/* Returns the path of the place, malloc'd. Returns NULL with ERR_UNAVAILABLE and the reason if
 * there is none. */
char *cgroup_find(struct error *err);

/* Writes the group that this process is in now: "/a/b". Returns false if it is not known. */
bool cgroup_own(char out[PATH_MAX]);

/* Returns why no limits of memory and processes can be set for the children of the group, or NULL
 * if they can be set. dir: the open directory of the group. */
const char *cgroup_limits_obstacle(int dir);

/* Does the work of cgroup_find(), also for its test. top: the directory where the groups are
 * mounted. own: our group, as cgroup_own() writes it. managed: a group may belong to another
 * manager although we can write to it, unless it or a group above it was delegated. */
char *cgroup_find_below(const char *top, const char *own, bool managed, struct error *err);

#endif
