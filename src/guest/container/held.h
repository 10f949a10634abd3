/* SPDX-License-Identifier: MIT */
/*
 * Keeps the host's mounts that a container uses, in the agent's own mount namespace, until a moment
 * after the container's end. Such mounts are called held mounts.
 *
 * The container's root and each of its volumes is a superblock of virtiofs. If nothing else uses
 * the superblock, it is freed when the container's last process exits. At that moment the kernel
 * may still be reading ahead in the file of the container's program, so an inode is in use
 * (generic_shutdown_super(), "Busy inodes after unmount"). The exiting process then hangs for ever,
 * and the agent is never told that it has exited.
 */
#ifndef GUEST_HELD_H
#define GUEST_HELD_H

#include "base/loop.h"
#include "guest/container/contained.h"

struct held;

/* Keeps the host's mounts that the plan names. Must be called before the container's mount
 * namespace is created, so that the namespace gets copies of the held mounts. Returns NULL, which
 * is not an error, if there is no such mount, or if there is no memory. */
struct held *held_take(const struct contained_plan *plan);
/* Unmounts the held mounts after a moment. Called when the container's processes have exited. Frees
 * `held`, which may be NULL. */
void held_let_go(struct held *held, struct loop *loop);

#endif
