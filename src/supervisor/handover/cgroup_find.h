/* SPDX-License-Identifier: MIT */
/*
 * Finds the parent for a workspace's cgroup if the request names no cgroup. The parent is an
 * existing group of this host, and the workspace's group becomes its child. The search begins with
 * the group of this process and goes upwards. The parent is the first group in which this process
 * may make groups, and whose children can be limited. The kernel limits no children of a group that
 * itself has processes, except for the topmost group. So the group of this process can be the
 * parent only if it is the topmost group.
 */
#ifndef SUPERVISOR_CGROUP_FIND_H
#define SUPERVISOR_CGROUP_FIND_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

/* Returns the path of the parent group. The caller frees the path. Returns NULL with an error.
 * ERR_UNAVAILABLE: no group can be the parent, and the message says why. */
char *cgroup_find(struct error *err);

/* Writes the path of the present group of this process, for example "/a/b". Returns false if the
 * path is not known. */
bool cgroup_own(char out[PATH_MAX]);

/* Returns the reason why no limits of memory and processes can be set for the children of the
 * group; NULL if such limits can be set. `dir` is the open directory of the group. */
const char *cgroup_limits_obstacle(int dir);

/* Does the work of cgroup_find(); its test calls this function directly. `top` is the directory
 * where the groups are mounted. `own` is the group of this process, as cgroup_own() writes it. If
 * `managed` is true, a program such as systemd manages the groups, and this process may be able to
 * write to groups that it must leave alone. Then a group can be the parent only if that group, or
 * one of its ancestors, was delegated. */
char *cgroup_find_below(const char *top, const char *own, bool managed, struct error *err);

#endif
