/* SPDX-License-Identifier: MIT */
/* The guest's side of this installation: microagent-init, which machines boot out of their kernel's
 * initrd. */
#ifndef CHANNEL_GUEST_INIT_H
#define CHANNEL_GUEST_INIT_H

#include <stdbool.h>

#include "store/cache.h"

/*
 * Whether the initrd of a kernel of the cache is recorded to hold another microagent-init than the
 * one beside this program; false where that cannot be said, and for a kernel of the user's, whose
 * initrd is his. Nothing mends it unasked: workspaces that were prepared with that initrd would not
 * start any more, and two installations with one cache would undo each other's work at every
 * machine.
 */
bool guest_init_differs(const struct cache_kernel *kernel);

#endif
