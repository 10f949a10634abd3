/* SPDX-License-Identifier: MIT */
/* The host's cgroups of a container. They hold its stand-in and, if the container has its own
 * machine, all processes of that machine. They are used through files, whichever hierarchies there
 * are. */
#ifndef OCI_GROUP_H
#define OCI_GROUP_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Adds to missing the directories of path that do not exist in each hierarchy, outer ones first.
 * path is a cgroupsPath as group_path() takes it. The list must be recorded before group_make():
 * the process that makes the directories may be killed. */
int group_missing(const char *path, json_t *missing, struct error *err);
int group_make(const json_t *missing, struct error *err);
/* Puts the process into path in each hierarchy. */
int group_enter(const char *path, pid_t pid, struct error *err);
/* Removes the directories that were made, the last one first. A directory that is not empty
 * stays. */
void group_leave(const json_t *made);
/* Returns the path of a cgroupsPath: "/a.slice/a-b.slice/docker-ID.scope" for
 * "a-b.slice:docker:ID"; any other path as it is. The caller frees the result. */
char *group_path(const char *path, struct error *err);

#endif
