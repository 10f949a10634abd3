/* SPDX-License-Identifier: MIT */
/*
 * The cgroup of a container: <mount>/microagent/containers/ID, whose first process is in it and
 * whose further commands are each in one below, so that one of those can be killed alone. Limits
 * are the host's words, files and values of cgroup v2 (Documentation/admin-guide/cgroup-v2.rst).
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
 * the directory of all commands' cgroups (cgroup_tree); -1: this kernel has no cgroup v2, without
 * which there is no container. Returns a descriptor.
 */
int group_make(int commands, const char *id, const struct contained_plan *plan, struct error *err);
/* FILE:VALUE of an object, one after the other. */
int group_limit(int group, json_t *limits, struct error *err);
/*
 * Attaches a program to the cgroup that decides on each opening and making of a device in it and
 * below it: nothing is allowed but what the rules allow, and at last the devices of a container's
 * /dev and mknod(2), as runc has it (device_rules.c).
 */
int group_rule_devices(int group, const struct device_rule *rules, size_t count, struct error *err);
/* With what is below it; nothing lives there. */
void group_remove(int commands, const char *id);

#endif
