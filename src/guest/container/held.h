/* SPDX-License-Identifier: MIT */
/*
 * What a container has of the host, held in the agent's own mount namespace for a moment longer
 * than the container lives.
 *
 * Its root and each of its volumes is a superblock of virtiofs' own. One that nobody else has is
 * ended by the exit of the container's last process, while the kernel may still be reading ahead
 * in the program that has ended: it finds an inode that is in use (generic_shutdown_super(), "Busy
 * inodes after unmount") and stops that process for good, of whose end nobody hears then.
 */
#ifndef GUEST_HELD_H
#define GUEST_HELD_H

#include "base/loop.h"
#include "guest/container/contained.h"

struct held;

/* Before the container's own namespace is made, which has copies then. NULL: there is nothing, or
 * no memory for it, and it is as it would be without. */
struct held *held_take(const struct contained_plan *plan);
/* Its processes have ended. Accepts NULL. */
void held_let_go(struct held *held, struct loop *loop);

#endif
