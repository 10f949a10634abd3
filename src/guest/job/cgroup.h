/* SPDX-License-Identifier: MIT */
/*
 * A cgroup v2 of its own for every command, so that its whole tree can be killed at once, whatever
 * sessions its members have made. Where there is no cgroup v2, the session of the command is what
 * can be found again.
 *
 * Making and removing a cgroup costs more than the rest of a small request, so one that is empty
 * when its command ends is used again, unless it was killed. Children left in the background keep
 * theirs; those are looked at again when later commands end.
 */
#ifndef GUEST_CGROUP_H
#define GUEST_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define CGROUP_SPARES 16

/* One command's: none, or from cgroup_take(). */
struct cgroup {
	uint64_t name; /* 0: none */
	int fd;	       /* for spawn_spec.cgroup_fd; -1 */
	int events_fd; /* its cgroup.events; -1 */
	bool killed;   /* newer kernels then kill what clone3() puts into it later, too */
};
#define CGROUP_NONE                       \
	{                                 \
		.fd = -1, .events_fd = -1 \
	}

struct cgroup_tree {
	int dirfd;     /* <mount>/microagent, or a container's; -1: no cgroups here */
	bool lent;     /* the directory is a container's */
	uint64_t next; /* names are numbers */
	struct cgroup spares[CGROUP_SPARES];
	size_t nspares;
	uint64_t *left; /* still populated when their command ended */
	size_t nleft, left_room, left_turn;
};
#define CGROUP_TREE_NONE    \
	{                   \
		.dirfd = -1 \
	}

/* mount: where cgroup v2 is mounted ("/sys/fs/cgroup"). Ends whatever a former agent left there,
 * and makes the first spare one. Without cgroup v2, and without the right to use it, the tree stays
 * empty and that is no error. */
void cgroup_tree_open(struct cgroup_tree *tree, const char *mount);
/* A tree in the cgroup of a container (a descriptor, taken over). */
void cgroup_tree_in(struct cgroup_tree *tree, int dirfd);
void cgroup_tree_close(struct cgroup_tree *tree);
/* Without a tree, or without room in it, *out is none. */
void cgroup_take(struct cgroup_tree *tree, struct cgroup *out);
/* SIGKILL to every process in it; without a cgroup to all of the session. */
void cgroup_kill(struct cgroup *cgroup, pid_t session);
/* SIGKILL to every command's tree, also those left in the background. */
void cgroup_kill_all(struct cgroup_tree *tree);
/* The command has ended; *cgroup becomes none. */
void cgroup_release(struct cgroup_tree *tree, struct cgroup *cgroup);

#endif
