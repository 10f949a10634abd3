/* SPDX-License-Identifier: MIT */
/*
 * Keeps the host's mounts that a container uses a moment longer than the container lives, in the
 * agent's own mount namespace.
 *
 * The container's root and each of its volumes is a superblock of virtiofs. If nothing else uses
 * the superblock, it is freed when the container's last process exits. At that moment the kernel
 * may still be reading ahead in the file of the program that has ended, so an inode is in use
 * (generic_shutdown_super(), "Busy inodes after unmount"). Then the exiting process never ends, and
 * the agent is never told its end.
 */
#ifndef GUEST_HELD_H
#define GUEST_HELD_H

#include "base/loop.h"
#include "guest/container/contained.h"

struct held;

/* Holds the mounts of the plan. Must be called before the container's mount namespace is made, so
 * that this namespace gets copies of the held mounts. Returns NULL if there is nothing to hold, or
 * if there is no memory. NULL is not an error. */
struct held *held_take(const struct contained_plan *plan);
/* Unmounts the held mounts a moment later. Called when the container's processes have ended.
 * Accepts NULL. */
void held_let_go(struct held *held, struct loop *loop);

#endif
