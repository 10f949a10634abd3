/* SPDX-License-Identifier: MIT */
/*
 * The cgroup of a container: <mount>/microagent/containers/ID. The container's first process is in
 * this cgroup. Each further command is in a cgroup below this cgroup, so that the agent can kill
 * one command alone. The host sends limits as files and values of cgroup v2
 * (Documentation/admin-guide/cgroup-v2.rst).
 */
#ifndef GUEST_GROUP_H
#define GUEST_GROUP_H

#include <jansson.h>

#include "base/error.h"
#include "guest/container/contained.h"

#define GROUP_CONTAINERS "containers"
#define GROUP_PATH "/sys/fs/cgroup/microagent/" GROUP_CONTAINERS

/*
 * Creates the cgroup of the container `id`, with the limits and the device rules of its plan.
 * Returns a file descriptor of the cgroup, which the caller closes, or -1 with err set. `commands`
 * is a file descriptor of the directory that has the cgroups of all commands (cgroup_tree).
 * `commands` is -1 if this kernel has no cgroup v2. The function then fails, since a container
 * needs cgroup v2.
 */
int group_make(int commands, const char *id, const struct contained_plan *plan, struct error *err);
/* Writes the limits one after the other. A key of the object `limits` is the name of a file of the
 * cgroup, and its value is the text to write. */
int group_limit(int group, json_t *limits, struct error *err);
/*
 * Attaches a BPF program to the cgroup. The program decides which devices the processes of the
 * cgroup, and of the cgroups below it, may open or create. An access is allowed only if a rule
 * allows it. The default rules are added after the given rules, as in runc. The default rules allow
 * the devices of a container's /dev, and mknod(2) (device_rules.c).
 */
int group_rule_devices(int group, const struct device_rule *rules, size_t count, struct error *err);
/* Removes the cgroup of the container `id` and all cgroups below it. No process may be in these
 * cgroups. */
void group_remove(int commands, const char *id);

#endif
