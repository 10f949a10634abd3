/* SPDX-License-Identifier: MIT */
/* The guest's program of this installation: microagent-init, which machines boot from their
 * kernel's initrd. */
#ifndef CHANNEL_GUEST_INIT_H
#define CHANNEL_GUEST_INIT_H

#include "store/cache.h"

enum guest_init {
	GUEST_INIT_SAME,
	GUEST_INIT_OTHER,
	GUEST_INIT_UNKNOWN, /* the initrd has no record, or the program is missing here */
};

/*
 * Compares the microagent-init of this installation with the record of the one in the initrd of a
 * kernel of the cache. Nothing is known of a kernel of the user's, whose initrd the user made. why
 * says why the result is unknown. A difference is not mended without a request: workspaces that
 * were prepared with that initrd would not start any more, and two installations with one cache
 * would undo each other's work at every machine.
 */
enum guest_init guest_init_compare(const struct cache_kernel *kernel, struct error *why);

#endif
