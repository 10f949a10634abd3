/* SPDX-License-Identifier: MIT */
/*
 * A cgroup v2 for each command, so that its whole tree can be killed at once, whatever sessions its
 * members have made. If there is no cgroup v2, only the processes of the command's session can be
 * found.
 *
 * Making and removing a cgroup costs more than the rest of a small request. So a cgroup that is
 * empty when its command ends is used again, unless it was killed. Children left in the background
 * keep theirs; such cgroups are looked at again when later commands end.
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
	uint64_t name; /* 0: none */
	int fd;	       /* for spawn_spec.cgroup_fd; -1: none */
	int events_fd; /* its cgroup.events; -1: none */
	bool killed;   /* newer kernels then also kill what clone3() puts into it later */
};
#define CGROUP_NONE                       \
	{                                 \
		.fd = -1, .events_fd = -1 \
	}

struct cgroup_tree {
	int dirfd;     /* <mount>/microagent, or a container's; -1: there are no cgroups */
	bool lent;     /* the directory belongs to a container */
	uint64_t next; /* names are numbers */
	struct cgroup spares[CGROUP_SPARES];
	size_t nspares;
	uint64_t *left; /* names of cgroups that had processes when their command ended */
	size_t nleft, left_room, left_turn;
};
#define CGROUP_TREE_NONE    \
	{                   \
		.dirfd = -1 \
	}

/* Opens the tree. mount is where cgroup v2 is mounted ("/sys/fs/cgroup"). Ends whatever an earlier
 * agent left there, and makes the first spare cgroup. Without cgroup v2, or without the right to
 * use it, the tree stays empty; that is no error. */
void cgroup_tree_open(struct cgroup_tree *tree, const char *mount);
/* Makes a tree in the cgroup of a container (dirfd, which is taken over). */
void cgroup_tree_in(struct cgroup_tree *tree, int dirfd);
void cgroup_tree_close(struct cgroup_tree *tree);
/* Takes a cgroup for a command. *out is none if there is no tree, or no room in it. */
void cgroup_take(struct cgroup_tree *tree, struct cgroup *out);
/* Sends SIGKILL to every process in the cgroup; without a cgroup, to all of the session. */
void cgroup_kill(struct cgroup *cgroup, pid_t session);
/* Sends SIGKILL to every command's tree, also to processes left in the background. */
void cgroup_kill_all(struct cgroup_tree *tree);
/* Returns the cgroup of a command that has ended; *cgroup becomes none. */
void cgroup_release(struct cgroup_tree *tree, struct cgroup *cgroup);

#endif
