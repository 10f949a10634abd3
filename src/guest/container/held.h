/* SPDX-License-Identifier: MIT */
/*
 * Keeps the mounts that a container has from the host, in the agent's own mount namespace, for a
 * moment longer than the container lives.
 *
 * The container's root and each of its volumes is a superblock of virtiofs. If nothing else uses
 * the superblock, the exit of the container's last process ends it. The kernel may then still be
 * reading ahead in the program that has ended, and finds an inode in use (generic_shutdown_super(),
 * "Busy inodes after unmount"). It then stops that process for good, and nobody is told of the
 * process's end.
 */
#ifndef GUEST_HELD_H
#define GUEST_HELD_H

#include "base/loop.h"
#include "guest/container/contained.h"

struct held;

/* Holds the mounts. To be called before the container's own namespace is made, which then has
 * copies. Returns NULL if there is nothing to hold, or no memory for it; the container then works
 * without. */
struct held *held_take(const struct contained_plan *plan);
/* Lets the mounts go, when the container's processes have ended. Accepts NULL. */
void held_let_go(struct held *held, struct loop *loop);

#endif
