/* SPDX-License-Identifier: MIT */
/*
 * A cgroup v2 for each command, so that all processes of the command can be killed at once,
 * whatever sessions they have made. If there is no cgroup v2, only the processes of the command's
 * session can be found.
 *
 * To make and remove a cgroup takes longer than the rest of a small request. So a cgroup that is
 * empty when its command ends is used for another command, unless it was killed. If the command has
 * left children in the background, the cgroup stays theirs. The agent looks at such cgroups again
 * when later commands end.
 *
 * All cgroups of commands lie in one tree, which the kernel can freeze at once. A machine is saved
 * while its tree is frozen. When a machine is restored, the agent gives the kernel new random
 * numbers before it thaws the tree. So no command draws the random numbers that commands of other
 * restored machines draw.
 */
#ifndef GUEST_CGROUP_H
#define GUEST_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define CGROUP_SPARES 16

/* The cgroup of one command. It comes from cgroup_take(), or is CGROUP_NONE. */
struct cgroup {
	uint64_t name; /* the number that is the cgroup's name; 0: there is no cgroup */
	int fd;	       /* the descriptor for spawn_spec.cgroup_fd; -1: there is no cgroup */
	int events_fd; /* a descriptor of the file cgroup.events; -1: there is no cgroup */
	/* The cgroup was killed, and must not be used again. Newer kernels also kill a process that
	 * clone3() starts in it afterwards. */
	bool killed;
};
#define CGROUP_NONE                       \
	{                                 \
		.fd = -1, .events_fd = -1 \
	}

struct cgroup_tree {
	/* The directory <mount>/microagent, or the cgroup of a container; -1: there are no
	 * cgroups. */
	int dirfd;
	bool lent; /* the directory is the cgroup of a container, which this tree must not remove */
	/* The processes of the tree stand still, and a process that is started in the tree does
	 * too. */
	bool frozen;
	uint64_t next; /* the number that the next cgroup gets as its name */
	struct cgroup spares[CGROUP_SPARES];
	size_t nspares;
	/* The numbers of cgroups that still had processes when their commands ended. */
	uint64_t *left;
	size_t nleft, left_room, left_turn;
};
#define CGROUP_TREE_NONE    \
	{                   \
		.dirfd = -1 \
	}

/* Opens the tree. `mount` is the path at which cgroup v2 is mounted ("/sys/fs/cgroup"). Kills the
 * processes that an earlier agent has left in the tree, and makes the first spare cgroup. If there
 * is no cgroup v2, or no right to use it, the tree has no cgroups, which is not an error. */
void cgroup_tree_open(struct cgroup_tree *tree, const char *mount);
/* Makes a tree in the cgroup of a container. Takes over `dirfd`, which is the directory of that
 * cgroup. */
void cgroup_tree_in(struct cgroup_tree *tree, int dirfd);
void cgroup_tree_close(struct cgroup_tree *tree);
/* Takes a cgroup for a command. Sets *out to CGROUP_NONE if the tree has no cgroups, or if a cgroup
 * cannot be made. */
void cgroup_take(struct cgroup_tree *tree, struct cgroup *out);
/* Sends SIGKILL to every process in the cgroup. If there is no cgroup, sends it to every process of
 * the session. */
void cgroup_kill(struct cgroup *cgroup, pid_t session);
/* Sends SIGKILL to all processes of all commands, including processes that were left in the
 * background. */
void cgroup_kill_all(struct cgroup_tree *tree);
/* Freezes all processes of the tree, and waits until they stand still, at most
 * LIMIT_STAND_STILL_MS. A process may wait in the kernel for longer, for example for a share. It
 * stands still when the kernel lets it return, and runs none of its own instructions before that.
 * If the tree has no cgroups, no process is frozen, which is not an error.
 * https://docs.kernel.org/admin-guide/cgroup-v2.html#core-interface-files. */
void cgroup_freeze(struct cgroup_tree *tree);
/* Lets the processes of the tree go on. Does nothing if the tree is not frozen. */
void cgroup_thaw(struct cgroup_tree *tree);
/* Gives the cgroup of a command back to the tree, after the command has ended. Sets *cgroup to
 * CGROUP_NONE. */
void cgroup_release(struct cgroup_tree *tree, struct cgroup *cgroup);

#endif
