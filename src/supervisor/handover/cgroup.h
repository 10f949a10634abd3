/* SPDX-License-Identifier: MIT */
/*
 * The cgroup of a workspace. Given a path, the live supervisor makes a group of its own below it,
 * sets what it may use, and moves there before it starts anything, so that everything of the
 * workspace is born in it. At the end it goes back to where it came from, kills what is left and
 * removes the group; the given one stays as it was but for the controllers that were switched on
 * for its children. Without a word of the request a place for it is looked for (cgroup_find.h), and
 * where there is none, or for "inherit", everything stays where the command was run.
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
	char *path; /* of our own group; NULL: there is none */
	int home;   /* cgroup.procs of where we came from; -1: not to be had */
	bool limited[CGROUP_CONTROLLERS];
};

#define CGROUP_NONE                      \
	{                                \
		.path = NULL, .home = -1 \
	}

/* Fails where config.cgroup is a path, and that is no cgroup (version 2) in which this user may
 * make one. Fails with ERR_UNAVAILABLE where the config requires limits that cannot be set. */
int cgroup_check(const struct config *config, struct error *err);
/* Makes the group for the workspace `id` and moves the calling process there. Its processes may
 * have memory_bytes together. Where the config requires limits, one that cannot be set is an error;
 * else a limit that cannot be set, or a place that was looked for in vain, is a line of the log.
 * Does nothing for "inherit". */
int cgroup_enter(const struct config *config, const char *id, uint64_t memory_bytes,
		 struct cgroup *out, struct log *log, struct error *err);
/* Takes another process in, which goes with the group. Nothing where there is none. */
int cgroup_take(const struct cgroup *cgroup, pid_t pid, struct error *err);
/* Out of it again, with which it is removed. Fails while it cannot be left, as where the group that
 * we came from is no more. A process that has a broker do it is to end within LIMIT_KILL_MS. */
int cgroup_leave(struct cgroup *cgroup, struct error *err);
extern const struct broker_duty cgroup_duty; /* its data: the cgroup */
void cgroup_free(struct cgroup *cgroup);

/* Whose a group must be that is removed: of the workspace `id` by its name, and each process in it by
 * may_kill(). */
struct cgroup_owner {
	const char *id;
	bool (*may_kill)(pid_t pid, void *data);
	void *data;
};
/* Kills the processes in the group at path, waits for their end until the deadline, and removes the
 * group. A group that is not there is no failure. ERR_INVALID: path does not name a group of the
 * owner's workspace. ERR_DENIED: the group holds a process that may_kill() refuses, or a further
 * group. */
int cgroup_remove(const char *path, const struct cgroup_owner *owner, uint64_t deadline_ns,
		  struct error *err);

/* In the directory of a group: "<name>" takes the value. For cgroup_enter() and its test. */
int cgroup_limit(int dir, const char *name, uint64_t value, struct error *err);

#endif
