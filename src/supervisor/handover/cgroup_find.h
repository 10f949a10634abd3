/* SPDX-License-Identifier: MIT */
/*
 * Where a workspace's cgroup can be made when the request names no place: in the nearest group,
 * from the one that we run in upwards, that is ours to make groups in and whose children can be
 * limited. The kernel limits no children of a group that has processes of its own (but of the
 * topmost), so it is never the one that we run in, unless that is the topmost.
 */
#ifndef SUPERVISOR_CGROUP_FIND_H
#define SUPERVISOR_CGROUP_FIND_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

/* Its path, malloc'd. NULL, and why: ERR_UNAVAILABLE. */
char *cgroup_find(struct error *err);

/* The group that this process is in now: "/a/b". */
bool cgroup_own(char out[PATH_MAX]);

/* Why no limits of memory and processes can be set for the children of the group, which is an open
 * directory; NULL where they can be. */
const char *cgroup_limits_obstacle(int dir);

/* For cgroup_find() and its test. top: where the groups are mounted; own: as of cgroup_own();
 * managed: a group may be another one's, although it could be written, unless it or one above it
 * has been given away. */
char *cgroup_find_below(const char *top, const char *own, bool managed, struct error *err);

#endif
