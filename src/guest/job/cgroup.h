/* SPDX-License-Identifier: MIT */
/*
 * A cgroup v2 for each command, so that all of its processes can be killed at once, whatever
 * sessions they have made. If there is no cgroup v2, only the processes of the command's session
 * can be found.
 *
 * To make and remove a cgroup takes longer than the rest of a small request. So a cgroup that is
 * empty when its command ends is used for another command, unless it was killed. If children are
 * left in the background, they keep the cgroup, and the agent checks such cgroups again when later
 * commands end.
 *
 * All cgroups of commands lie in one tree, which the kernel can freeze at once. A machine is saved
 * with a frozen tree. A machine restored from it gives the kernel new random numbers while no
 * command runs, so that no command draws the numbers that its siblings draw.
 */
#ifndef GUEST_CGROUP_H
#define GUEST_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define CGROUP_SPARES 16

/* The cgroup of one command: none, or from cgroup_take(). */
struct cgroup {
	uint64_t name; /* 0: there is no cgroup */
	int fd;	       /* the descriptor for spawn_spec.cgroup_fd; -1: none */
	int events_fd; /* the file cgroup.events; -1: none */
	/* The cgroup was killed, and is not used again: newer kernels also kill a process that
	 * clone3() starts in it later. */
	bool killed;
};
#define CGROUP_NONE                       \
	{                                 \
		.fd = -1, .events_fd = -1 \
	}

struct cgroup_tree {
	int dirfd;     /* <mount>/microagent, or a container's; -1: there are no cgroups */
	bool lent;     /* the directory belongs to the cgroup of a container */
	bool frozen;   /* the processes stand still, and so does one that is started in the tree */
	uint64_t next; /* the name of the next cgroup; names are numbers */
	struct cgroup spares[CGROUP_SPARES];
	size_t nspares;
	uint64_t *left; /* names of cgroups that had processes when their command ended */
	size_t nleft, left_room, left_turn;
};
#define CGROUP_TREE_NONE    \
	{                   \
		.dirfd = -1 \
	}

/* Opens the tree. `mount` is the path at which cgroup v2 is mounted ("/sys/fs/cgroup"). Kills the
 * processes that an earlier agent has left in the tree, and makes the first spare cgroup. It is no
 * error if there is no cgroup v2, or no right to use it: the tree then has no cgroups. */
void cgroup_tree_open(struct cgroup_tree *tree, const char *mount);
/* Makes a tree in the cgroup of a container (dirfd, which is taken over). */
void cgroup_tree_in(struct cgroup_tree *tree, int dirfd);
void cgroup_tree_close(struct cgroup_tree *tree);
/* Takes a cgroup for a command. Sets *out to CGROUP_NONE if there is no tree, or no room in the
 * tree. */
void cgroup_take(struct cgroup_tree *tree, struct cgroup *out);
/* Sends SIGKILL to every process in the cgroup. If there is no cgroup, sends it to every process of
 * the session. */
void cgroup_kill(struct cgroup *cgroup, pid_t session);
/* Sends SIGKILL to every command's tree, also to processes left in the background. */
void cgroup_kill_all(struct cgroup_tree *tree);
/* Makes all processes of the tree stand still, and waits until they do, at most for
 * LIMIT_STAND_STILL_MS. A process that waits in the kernel for longer, for example for a share,
 * stands still when the kernel lets it return: it runs no instruction of its own before. It is not
 * an error if the tree has no cgroups: then no process is frozen.
 * https://docs.kernel.org/admin-guide/cgroup-v2.html#core-interface-files */
void cgroup_freeze(struct cgroup_tree *tree);
/* Lets the processes of the tree go on. Does nothing if the tree is not frozen. */
void cgroup_thaw(struct cgroup_tree *tree);
/* Gives the cgroup of a command that has ended back to the tree, and sets *cgroup to
 * CGROUP_NONE. */
void cgroup_release(struct cgroup_tree *tree, struct cgroup *cgroup);

#endif
