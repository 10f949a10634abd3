/* SPDX-License-Identifier: MIT */
#include "guest/container/held.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define BELOW CONTAINERS_MOUNTPOINT "/"
/* The time in which the host normally answers reads that the kernel has begun. */
#define MOMENT_NS NS_PER_S

struct held {
	size_t count;
	char *paths[];
};

/* Keeps the mount at `path`, if `path` is below CONTAINERS_MOUNTPOINT. Other paths are skipped,
 * since the agent must never unmount them. open_tree() makes an automatic mount appear. */
static void hold_path(struct held *held, const char *path)
{
	if (!path || strncmp(path, BELOW, strlen(BELOW)) != 0 || strstr(path, ".."))
		return;
	autoclose int seen = open_tree(AT_FDCWD, path, OPEN_TREE_CLOEXEC);
	char *copy = seen < 0 ? NULL : strdup(path);
	if (copy)
		held->paths[held->count++] = copy;
}

struct held *held_take(const struct contained_plan *plan)
{
	struct held *held = calloc(1, sizeof(*held) + (plan->nmounts + 1) * sizeof(*held->paths));

	if (!held)
		return NULL;
	hold_path(held, plan->root);
	for (size_t i = 0; i < plan->nmounts; i++)
		if (plan->mounts[i].flags & MS_BIND)
			hold_path(held, plan->mounts[i].source);
	if (held->count > 0)
		return held;
	free(held);
	return NULL;
}

static void unmount_held(struct loop *loop, void *data)
{
	struct held *held = data;

	(void)loop;
	/* umount2() fails if the host has removed the mount before. Such a failure is ignored. */
	for (size_t i = held->count; i > 0; i--) {
		(void)umount2(held->paths[i - 1], MNT_DETACH | UMOUNT_NOFOLLOW);
		free(held->paths[i - 1]);
	}
	free(held);
}

void held_let_go(struct held *held, struct loop *loop)
{
	if (held && !loop_add_timer(loop, clock_mono_ns() + MOMENT_NS, unmount_held, held, NULL))
		unmount_held(loop, held);
}
