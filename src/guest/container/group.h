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

#define GROUP_CONTAINERS "containers"
#define GROUP_PATH "/sys/fs/cgroup/microagent/" GROUP_CONTAINERS

/* commands: the directory of all commands' cgroups (cgroup_tree); limits: NULL for none. Returns a
 * descriptor of it; -1 without an error where there are no cgroups, which limits refuse. */
int group_make(int commands, const char *id, json_t *limits, struct error *err);
/* FILE:VALUE of an object, one after the other. */
int group_limit(int group, json_t *limits, struct error *err);
/* With what is below it; nothing lives there. */
void group_remove(int commands, const char *id);

#endif
