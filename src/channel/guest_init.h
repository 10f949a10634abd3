/* SPDX-License-Identifier: MIT */
/* Tells whether machines boot the microagent-init of this installation. A machine boots the
 * microagent-init that is in the initrd of its kernel. */
#ifndef CHANNEL_GUEST_INIT_H
#define CHANNEL_GUEST_INIT_H

#include "store/cache.h"

enum guest_init {
	GUEST_INIT_SAME,
	GUEST_INIT_OTHER,
	GUEST_INIT_UNKNOWN, /* there is no record of the initrd, or this installation has no
			     * microagent-init for it */
};

/*
 * Compares the microagent-init of this installation with the record of the microagent-init in the
 * initrd of a kernel of the cache. There is no record if the user has supplied the kernel and its
 * initrd. If the result is GUEST_INIT_UNKNOWN, *why says why. A caller must not replace an initrd
 * that differs, unless the user asks for this, for two reasons. A workspace that was prepared with
 * the old initrd would not start any more. And two installations with one cache would replace each
 * other's initrd again and again.
 */
enum guest_init guest_init_compare(const struct cache_kernel *kernel, struct error *why);

#endif
