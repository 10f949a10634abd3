/* SPDX-License-Identifier: MIT */
/*
 * The cgroup of a workspace. If the request names a group, the live supervisor makes a new group
 * below the named one and sets its limits. It moves into the new group before it starts any
 * process, so every process of the workspace begins there. At the end the live supervisor goes back
 * to the group from which it came. It then kills the processes that are left in the new group, and
 * removes this group. The named group is not changed, except that controllers are switched on for
 * its children.
 *
 * If the request names no group, cgroup_find.h looks for a group. If no group is found, or if the
 * request says "inherit", all processes stay in the group in which the command was run.
 */
#ifndef SUPERVISOR_CGROUP_H
#define SUPERVISOR_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/log.h"
#include "contract/request.h"

/* The controllers that limit a workspace's group. cgroup_controller_names has their names in the
 * kernel. */
enum cgroup_controller { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CONTROLLERS };
extern const char *const cgroup_controller_names[CGROUP_CONTROLLERS];

struct cgroup {
	char *path; /* the path of the workspace's group; NULL: there is none */
	/* A descriptor of cgroup.procs of the group from which this process came; -1: not open. */
	int home;
	bool limited[CGROUP_CONTROLLERS]; /* which limits were set */
};

#define CGROUP_NONE                      \
	{                                \
		.path = NULL, .home = -1 \
	}

/* Checks config.cgroup. Fails if config.cgroup is a path, and this user may not make groups there,
 * or the path is not a cgroup (version 2). ERR_UNAVAILABLE: the config requires limits that cannot
 * be set. */
int cgroup_check(const struct config *config, struct error *err);
/* Makes the group for the workspace `id`, and moves the calling process into it. All processes in
 * the group together may use memory_bytes bytes. If no group can be made, or a limit cannot be set,
 * this is an error if the config requires limits; otherwise the log gets a line. Does nothing if
 * config.cgroup is "inherit". */
int cgroup_enter(const struct config *config, const char *id, uint64_t memory_bytes,
		 struct cgroup *out, struct log *log, struct error *err);
/* Moves the process `pid` into the workspace's group, so that it is ended with the group. Does
 * nothing if the workspace has no group. */
int cgroup_take(const struct cgroup *cgroup, pid_t pid, struct error *err);
/* Moves the calling process out of the workspace's group, kills the other processes in the group,
 * and removes the group. Fails if the calling process cannot leave the group, for example because
 * the group from which it came does not exist any more. If the calling process has a broker, the
 * broker does this work, and the calling process must end within LIMIT_KILL_MS. */
int cgroup_leave(struct cgroup *cgroup, struct error *err);
/* The broker's duty that does the work of cgroup_leave(). Its data is the struct cgroup. */
extern const struct broker_duty cgroup_duty;
void cgroup_free(struct cgroup *cgroup);

/* The owner of the group that cgroup_remove() may remove. The group's name must be that of a group
 * of the workspace `id`, and may_kill() must return true for each process in the group. */
struct cgroup_owner {
	const char *id;
	bool (*may_kill)(pid_t pid, void *data);
	void *data;
};
/* Kills the processes in the group at `path`, waits until the deadline for their end, and removes
 * the group. Succeeds if the group does not exist. ERR_INVALID: `path` does not name a group of the
 * owner's workspace. ERR_DENIED: may_kill() refuses a process in the group, or another group is
 * below it. */
int cgroup_remove(const char *path, const struct cgroup_owner *owner, uint64_t deadline_ns,
		  struct error *err);

/* Writes `value` to the file `name` of a cgroup, whose open directory is `dir`. cgroup_enter() and
 * its test call this function. */
int cgroup_limit(int dir, const char *name, uint64_t value, struct error *err);

#endif
