/* SPDX-License-Identifier: MIT */
/*
 * A cgroup v2 for each command, so that all processes of the command can be killed at once, even
 * those that have made a POSIX session of their own. Without cgroup v2, only the processes of the
 * command's own POSIX session can be found.
 *
 * To create and remove a cgroup takes longer than the other work for a small request. So a cgroup
 * that is empty when its command ends is used for another command, unless it was killed. If
 * children of the command still run in the background, they stay in the cgroup. When later commands
 * end, the agent checks whether it can remove such cgroups.
 *
 * All cgroups of commands are in one tree, so that the kernel can freeze all commands in one step.
 * A machine is saved while its tree is frozen. When a machine is restored, the agent gives the
 * kernel new random numbers before it thaws the tree. So no command gets the same random numbers as
 * a command of another restored machine.
 */
#ifndef GUEST_CGROUP_H
#define GUEST_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define CGROUP_SPARES 16

/* The cgroup of one command. A variable of this type has a value from cgroup_take(), or
 * CGROUP_NONE. */
struct cgroup {
	uint64_t name; /* the number that is the cgroup's name; 0: there is no cgroup */
	int fd;	       /* a file descriptor of the cgroup; -1: there is no cgroup */
	int events_fd; /* a file descriptor of cgroup.events; -1: there is no cgroup */
	/* The cgroup was killed, and must not be used again: newer kernels also kill a process that
	 * clone3() later starts in such a cgroup. */
	bool killed;
};
#define CGROUP_NONE                       \
	{                                 \
		.fd = -1, .events_fd = -1 \
	}

struct cgroup_tree {
	/* A file descriptor of the tree's directory: <mount>/microagent, or the cgroup of a
	 * container. -1: there are no cgroups. */
	int dirfd;
	bool lent; /* the directory is a container's cgroup, and is not removed at the end */
	/* All processes of the tree stand still, and so does a process that is started in the
	 * tree. */
	bool frozen;
	uint64_t next; /* the number that the next cgroup gets as its name */
	struct cgroup spares[CGROUP_SPARES];
	size_t nspares;
	/* The numbers of cgroups that still had processes when their commands ended.
	 * cgroup_release() tries to remove these cgroups later. */
	uint64_t *left;
	size_t nleft, left_room, left_turn;
};
#define CGROUP_TREE_NONE    \
	{                   \
		.dirfd = -1 \
	}

/* Opens the tree. `mount` is the path at which cgroup v2 is mounted ("/sys/fs/cgroup"). Kills the
 * processes that an earlier agent has left in the tree, and makes the first spare cgroup. If there
 * is no cgroup v2, or if this process may not use it, the tree has no cgroups, which is not an
 * error. */
void cgroup_tree_open(struct cgroup_tree *tree, const char *mount);
/* Sets up a tree in the cgroup of a container. `dirfd` is the directory of that cgroup, which
 * cgroup_tree_close() closes. */
void cgroup_tree_in(struct cgroup_tree *tree, int dirfd);
void cgroup_tree_close(struct cgroup_tree *tree);
/* Gets a cgroup for a command. Sets *out to CGROUP_NONE if the tree has no cgroups, or if no cgroup
 * can be created. */
void cgroup_take(struct cgroup_tree *tree, struct cgroup *out);
/* Sends SIGKILL to every process in the cgroup. If there is no cgroup, sends SIGKILL to every
 * process of the POSIX session `session`. */
void cgroup_kill(struct cgroup *cgroup, pid_t session);
/* Sends SIGKILL to all processes of all commands, including processes that still run in the
 * background after their command's end. */
void cgroup_kill_all(struct cgroup_tree *tree);
/* Freezes all processes of the tree, and waits until they stand still, at most LIMIT_STAND_STILL_MS
 * milliseconds. A process that waits in the kernel, for example for a share, may stand still only
 * later. Before that, such a process runs none of its own instructions. If the tree has no cgroups,
 * no process is frozen, which is not an error.
 * https://docs.kernel.org/admin-guide/cgroup-v2.html#core-interface-files. */
void cgroup_freeze(struct cgroup_tree *tree);
/* Lets the processes of the tree continue. Does nothing if the tree is not frozen. */
void cgroup_thaw(struct cgroup_tree *tree);
/* Gives the cgroup back to the tree. Must be called after the command of the cgroup has ended. Sets
 * *cgroup to CGROUP_NONE. */
void cgroup_release(struct cgroup_tree *tree, struct cgroup *cgroup);

#endif
