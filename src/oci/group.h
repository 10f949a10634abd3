/* SPDX-License-Identifier: MIT */
/* Functions for a container's cgroups on the host. These cgroups contain the container's stand-in.
 * If the container has its own machine, they also contain all processes of that machine. The
 * functions use the files of cgroups, in every hierarchy that the host has. */
#ifndef OCI_GROUP_H
#define OCI_GROUP_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Adds to `missing` the directories that group_make() must make for the cgroup `path`, in each
 * hierarchy, parents first. `path` is a result of group_path(). The caller writes the list to the
 * record before it calls group_make(). So the directories can be removed even if the caller is
 * killed. */
int group_missing(const char *path, json_t *missing, struct error *err);
int group_make(const json_t *missing, struct error *err);
/* Moves the process `pid` into the cgroup `path`, in each hierarchy. */
int group_enter(const char *path, pid_t pid, struct error *err);
/* Removes the directories that group_make() has made, in reverse order. Keeps a directory that is
 * not empty. */
void group_leave(const json_t *made);
/* Returns the path of the cgroup that a config's cgroupsPath means. In the form of systemd,
 * "a-b.slice:docker:ID" means "/a.slice/a-b.slice/docker-ID.scope". Any other path is returned
 * unchanged. The caller frees the result. */
char *group_path(const char *path, struct error *err);

#endif
