/* SPDX-License-Identifier: MIT */
/*
 * The cgroup of a workspace. If the request names a group, the live supervisor makes a new group
 * below the named one and sets its limits. The live supervisor moves into the new group before it
 * starts any process, so every process of the workspace starts in that group. When the machine has
 * ended, the live supervisor moves back to the group in which it was started. The live supervisor
 * then kills the processes that remain in the new group, and removes the new group. The named group
 * is not changed, except that controllers are enabled for its child groups.
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
	/* An open descriptor of the cgroup.procs of the group in which this process was started;
	 * -1: not open. */
	int home;
	bool limited[CGROUP_CONTROLLERS]; /* which limits were set */
};

#define CGROUP_NONE                      \
	{                                \
		.path = NULL, .home = -1 \
	}

/* Checks config.cgroup. Fails if config.cgroup is a path that is not a cgroup (version 2), or in
 * which this user may not make groups. ERR_UNAVAILABLE: the config requires limits that cannot be
 * set. */
int cgroup_check(const struct config *config, struct error *err);
/* Makes the group for the workspace `id`, and moves the calling process into it. Limits the memory
 * of all processes in the group together to memory_bytes bytes. If the group cannot be made, or a
 * limit cannot be set, fails if the config requires limits, and otherwise writes a line to the log.
 * Does nothing if config.cgroup is "inherit". */
int cgroup_enter(const struct config *config, const char *id, uint64_t memory_bytes,
		 struct cgroup *out, struct log *log, struct error *err);
/* Moves the process `pid` into the workspace's group, so that cgroup_leave() also kills that
 * process. Does nothing if the workspace has no group. */
int cgroup_take(const struct cgroup *cgroup, pid_t pid, struct error *err);
/* Moves the calling process out of the workspace's group, kills the other processes in the group,
 * and removes the group. Fails if the calling process cannot leave the group, for example because
 * the group in which it was started does not exist any more. If the calling process has a broker,
 * the broker does this work, and the calling process must end within LIMIT_KILL_MS. */
int cgroup_leave(struct cgroup *cgroup, struct error *err);
/* The broker's duty that does the work of cgroup_leave(). The duty's data is the struct cgroup. */
extern const struct broker_duty cgroup_duty;
void cgroup_free(struct cgroup *cgroup);

/* The workspace whose group cgroup_remove() may remove. The group's name must be one that
 * cgroup_enter() gives to a group of the workspace `id`, and may_kill() must return true for each
 * process in the group. */
struct cgroup_owner {
	const char *id;
	bool (*may_kill)(pid_t pid, void *data);
	void *data;
};
/* Kills the processes in the group at `path`, waits until the deadline for their end, and removes
 * the group. Succeeds if the group does not exist. ERR_INVALID: `path` does not name a group of the
 * owner's workspace. ERR_DENIED: may_kill() refuses a process in the group, or the group has a
 * child group. */
int cgroup_remove(const char *path, const struct cgroup_owner *owner, uint64_t deadline_ns,
		  struct error *err);

/* Writes `value` to the file `name` of a cgroup, whose open directory is `dir`. cgroup_enter() and
 * its test call this function. */
int cgroup_limit(int dir, const char *name, uint64_t value, struct error *err);

#endif
