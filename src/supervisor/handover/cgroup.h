/* SPDX-License-Identifier: MIT */
/*
 * The cgroup of a workspace. If the request gives the path of a group, the live supervisor makes a
 * group of its own below it, sets its limits, and moves into it before it starts anything. So every
 * process of the workspace begins in that group. At the end the live supervisor goes back to the
 * group where it came from, kills what is left and removes its group. The given group stays as it
 * was, except for the controllers that were switched on for its children.
 *
 * If the request says nothing, a place is looked for (cgroup_find.h). If there is no such place, or
 * for "inherit", everything stays in the group in which the command was run.
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
	char *path; /* path of our own group; NULL: there is none */
	int home;   /* cgroup.procs of the group we came from; -1: cannot be opened */
	bool limited[CGROUP_CONTROLLERS];
};

#define CGROUP_NONE                      \
	{                                \
		.path = NULL, .home = -1 \
	}

/* Fails if config.cgroup is a path that is no cgroup (version 2) in which this user may make one.
 * Fails with ERR_UNAVAILABLE if the config requires limits that cannot be set. */
int cgroup_check(const struct config *config, struct error *err);
/* Makes the group for the workspace `id` and moves the calling process there. The processes in it
 * may use memory_bytes together. If the config requires limits, a limit that cannot be set is an
 * error. Otherwise a limit that cannot be set, or a place that was not found, is a line in the log.
 * Does nothing for "inherit". */
int cgroup_enter(const struct config *config, const char *id, uint64_t memory_bytes,
		 struct cgroup *out, struct log *log, struct error *err);
/* Moves another process into the group; it is ended with the group. Does nothing if there is no
 * group. */
int cgroup_take(const struct cgroup *cgroup, pid_t pid, struct error *err);
/* Moves the calling process out of the group and removes the group. Fails while the group cannot be
 * left, for example if the group that we came from does not exist any more. A process for which a
 * broker does this must end within LIMIT_KILL_MS. */
int cgroup_leave(struct cgroup *cgroup, struct error *err);
extern const struct broker_duty cgroup_duty; /* its data is the cgroup */
void cgroup_free(struct cgroup *cgroup);

/* Says whose group cgroup_remove() may remove. By its name the group must belong to the workspace
 * `id`, and may_kill() must allow each process in it. */
struct cgroup_owner {
	const char *id;
	bool (*may_kill)(pid_t pid, void *data);
	void *data;
};
/* Kills the processes in the group at path, waits for their end until the deadline, and removes the
 * group. Returns success if the group does not exist. ERR_INVALID: path does not name a group of
 * the owner's workspace. ERR_DENIED: the group holds a process that may_kill() refuses, or a
 * further group. */
int cgroup_remove(const char *path, const struct cgroup_owner *owner, uint64_t deadline_ns,
		  struct error *err);

/* Writes value to the file "<name>" in the directory of a group. For cgroup_enter() and its
 * test. */
int cgroup_limit(int dir, const char *name, uint64_t value, struct error *err);

#endif
