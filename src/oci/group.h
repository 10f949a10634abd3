/* SPDX-License-Identifier: MIT */
/* The host's cgroups of a container: where its stand-in is, and, of a machine of its own, all
 * processes of that. By files, whichever hierarchies there are. */
#ifndef OCI_GROUP_H
#define OCI_GROUP_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Adds to missing what is not there of path (of cgroupsPath; "slice:prefix:name" is spread out) in
 * each hierarchy, the outer ones first. To be recorded before it is made: who makes it may be
 * killed. */
int group_missing(const char *path, json_t *missing, struct error *err);
int group_make(const json_t *missing, struct error *err);
/* Puts the process into path of each hierarchy. */
int group_enter(const char *path, pid_t pid, struct error *err);
/* Removes what was made, the last one first; one that is not empty stays. */
void group_leave(const json_t *made);
/* "a-b.slice:docker:ID" as "/a.slice/a-b.slice/docker-ID.scope"; malloc'd, as any other path. */
char *group_path(const char *path, struct error *err);

#endif
