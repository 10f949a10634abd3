/* SPDX-License-Identifier: MIT */
/*
 * The cgroup of a workspace. Given a path, the live supervisor moves there before it starts
 * anything, so that everything of the workspace is born in it; its limits and its end are the
 * business of whoever made it. Without one everything stays where the command was run.
 */
#ifndef SUPERVISOR_CGROUP_H
#define SUPERVISOR_CGROUP_H

#include "base/error.h"
#include "contract/request.h"

/* That config.cgroup, where it is a path, is a cgroup (version 2) that we may enter. */
int cgroup_check(const struct config *config, struct error *err);
/* Moves the calling process there. */
int cgroup_enter(const struct config *config, struct error *err);

#endif
