/* SPDX-License-Identifier: MIT */
/*
 * The cgroup of a workspace. If the request names a group, the live supervisor makes a new group
 * below the named one, sets the limits of the new group, and moves into it before it starts any
 * process. So every process of the workspace begins in the new group. At the end the live
 * supervisor goes back to the group from which it came, kills the processes that are left in the
 * new group, and removes this group. The named group stays as it was, except for the controllers
 * that were switched on for its children.
 *
 * If the request names no group, cgroup_find.h looks for one. If there is none, or if the request
 * says "inherit", all processes stay in the group in which the command was run.
 */
#ifndef SUPERVISOR_CGROUP_H
#define SUPERVISOR_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/log.h"
#include "contract/request.h"

/* The controllers by which a workspace's group is limited, by their names in the kernel. */
enum cgroup_controller { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CONTROLLERS };
extern const char *const cgroup_controller_names[CGROUP_CONTROLLERS];

struct cgroup {
	char *path; /* the path of the workspace's group; NULL: there is none */
	int home;   /* cgroup.procs of the group from which this process came; -1: not open */
	bool limited[CGROUP_CONTROLLERS]; /* the limits that were set */
};

#define CGROUP_NONE                      \
	{                                \
		.path = NULL, .home = -1 \
	}

/* Checks config.cgroup. Fails if it is a path, and that path is no cgroup (version 2) in which this
 * user may make groups. ERR_UNAVAILABLE: the config requires limits that cannot be set. */
int cgroup_check(const struct config *config, struct error *err);
/* Makes the group for the workspace `id`, and moves the calling process into it. All processes in
 * the group together may use memory_bytes. If the config requires limits, a limit that cannot be
 * set is an error. If not, a limit that cannot be set, or a missing place for the group, gives a
 * line in the log. Does nothing if config.cgroup is "inherit". */
int cgroup_enter(const struct config *config, const char *id, uint64_t memory_bytes,
		 struct cgroup *out, struct log *log, struct error *err);
/* Moves another process into the group, so that it is ended with the group. Does nothing if there
 * is no group. */
int cgroup_take(const struct cgroup *cgroup, pid_t pid, struct error *err);
/* Moves the calling process out of the group, kills the other processes in the group, and removes
 * the group. Fails if the calling process cannot leave, for example because the group from which it
 * came does not exist any more. If the calling process has a broker, the broker does this, and the
 * calling process must end within LIMIT_KILL_MS. */
int cgroup_leave(struct cgroup *cgroup, struct error *err);
/* The broker's duty for cgroup_leave(); its data is the struct cgroup. */
extern const struct broker_duty cgroup_duty;
void cgroup_free(struct cgroup *cgroup);

/* The owner whose group cgroup_remove() may remove. The group's name must be that of a group of the
 * workspace `id`, and may_kill() must return true for each process in the group. */
struct cgroup_owner {
	const char *id;
	bool (*may_kill)(pid_t pid, void *data);
	void *data;
};
/* Kills the processes in the group at `path`, waits for their end until the deadline, and removes
 * the group. Returns success if the group does not exist. ERR_INVALID: path does not name a group
 * of the owner's workspace. ERR_DENIED: the group has a process that may_kill() refuses, or has
 * another group below it. */
int cgroup_remove(const char *path, const struct cgroup_owner *owner, uint64_t deadline_ns,
		  struct error *err);

/* Writes `value` to the file `name` in the open directory `dir` of a group. Used by cgroup_enter()
 * and by its test. */
int cgroup_limit(int dir, const char *name, uint64_t value, struct error *err);

#endif
