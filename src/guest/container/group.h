/* SPDX-License-Identifier: MIT */
/*
 * The cgroup of a container: <mount>/microagent/containers/ID. The container's first process is in
 * it. Each further command has a cgroup below it, so that a command can be killed alone. Limits
 * come from the host as files and values of cgroup v2 (Documentation/admin-guide/cgroup-v2.rst).
 */
#ifndef GUEST_GROUP_H
#define GUEST_GROUP_H

#include <jansson.h>

#include "base/error.h"
#include "guest/container/contained.h"

#define GROUP_CONTAINERS "containers"
#define GROUP_PATH "/sys/fs/cgroup/microagent/" GROUP_CONTAINERS

/*
 * Makes the cgroup of container id, with the limits and the device rules of its plan. commands is
 * the directory of all commands' cgroups (cgroup_tree); -1: this kernel has no cgroup v2, and
 * without it there is no container. Returns a descriptor; -1 on failure.
 */
int group_make(int commands, const char *id, const struct contained_plan *plan, struct error *err);
/* Writes each VALUE of an object to the cgroup's FILE, one after the other. */
int group_limit(int group, json_t *limits, struct error *err);
/*
 * Attaches a program to the cgroup that decides on each opening and making of a device in the
 * cgroup and below it. Only what the rules allow is allowed. Added at the end, as in runc, are the
 * devices of a container's /dev, and mknod(2) (device_rules.c).
 */
int group_rule_devices(int group, const struct device_rule *rules, size_t count, struct error *err);
/* Removes the cgroup of container id and everything below it. No process may be alive there. */
void group_remove(int commands, const char *id);

#endif
