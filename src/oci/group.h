/* SPDX-License-Identifier: MIT */
/* The host's cgroups of a container. They have the container's stand-in and, if the container has
 * its own machine, all processes of that machine. They are used through their files, in every
 * hierarchy that the host has. */
#ifndef OCI_GROUP_H
#define OCI_GROUP_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Adds to `missing`, for each hierarchy, the directories of `path` that do not exist, outer
 * directories first. `path` is a result of group_path(). The caller records the list before it
 * calls group_make(), since the process that makes the directories may be killed. */
int group_missing(const char *path, json_t *missing, struct error *err);
int group_make(const json_t *missing, struct error *err);
/* Puts the process into `path` in each hierarchy. */
int group_enter(const char *path, pid_t pid, struct error *err);
/* Removes the directories that group_make() has made, the last one first. A directory that is not
 * empty is kept. */
void group_leave(const json_t *made);
/* Returns the path of the cgroup that a cgroupsPath means: "/a.slice/a-b.slice/docker-ID.scope" for
 * "a-b.slice:docker:ID", and any other path as it is. The caller frees the result. */
char *group_path(const char *path, struct error *err);

#endif
