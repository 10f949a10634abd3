/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/cleanup.h"
#include "store/internal.h"

/* What the kernel calls such an owner. */
#define OVERFLOW_UID 65534

bool user_is_nameless(uid_t uid)
{
	autofile FILE *map = uid == OVERFLOW_UID ? fopen("/proc/thread-self/uid_map", "re") : NULL;
	unsigned inside = 0, outside = 0, count = 0;

	/* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers, which fit */
	return map && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3 &&
	       count <= OVERFLOW_UID;
}
