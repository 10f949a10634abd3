/* SPDX-License-Identifier: MIT */
/* The guest's side of this installation: microagent-init, which machines boot out of their kernel's
 * initrd. */
#ifndef CHANNEL_GUEST_INIT_H
#define CHANNEL_GUEST_INIT_H

#include "store/cache.h"

enum guest_init {
	GUEST_INIT_SAME,
	GUEST_INIT_OTHER,
	GUEST_INIT_UNKNOWN, /* the initrd is not recorded, or the program is not here */
};

/*
 * What the initrd of a kernel of the cache is recorded to hold, beside the microagent-init of this
 * installation; nothing is known of a kernel of the user's, whose initrd is his. why: of what is
 * unknown. Nothing mends it unasked: workspaces that were prepared with that initrd would not start
 * any more, and two installations with one cache would undo each other's work at every machine.
 */
enum guest_init guest_init_compare(const struct cache_kernel *kernel, struct error *why);

#endif
