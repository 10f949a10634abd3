/* SPDX-License-Identifier: MIT */
/*
 * The cgroup of a container: <mount>/microagent/containers/ID. The container's first process is in
 * this cgroup. Each further command has a cgroup below it, so that a command can be killed alone.
 * The host sends limits as files and values of cgroup v2
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
 * Makes the cgroup of the container `id`, with the limits and the device rules of its plan. Returns
 * a descriptor of the cgroup, or -1 with an error. `commands` is a descriptor of the directory in
 * which all commands have their cgroups (cgroup_tree). It is -1 if this kernel has no cgroup v2.
 * The function then fails, since a container needs cgroup v2.
 */
int group_make(int commands, const char *id, const struct contained_plan *plan, struct error *err);
/* Writes each value of the object `limits` to the file of the cgroup that its key names, one after
 * the other. */
int group_limit(int group, json_t *limits, struct error *err);
/*
 * Attaches a BPF program to the cgroup. The program decides which devices a process in the cgroup
 * or below it may open or make. An access is allowed only if a rule allows it. After the given
 * rules come the default rules, as in runc. They allow the devices of a container's /dev, and
 * mknod(2) (device_rules.c).
 */
int group_rule_devices(int group, const struct device_rule *rules, size_t count, struct error *err);
/* Removes the cgroup of the container `id` and all cgroups below it. No process may live in
 * them. */
void group_remove(int commands, const char *id);

#endif
