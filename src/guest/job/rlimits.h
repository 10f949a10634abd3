/* SPDX-License-Identifier: MIT */
/*
 * The resource limits that a request asks for (setrlimit): {"nofile":{"soft":N,"hard":N}, ...}.
 *
 * They are set by the command's process while it is still root, since whoever may ask the agent may
 * also ask for root: how far a limit can be raised is the kernel's to say.
 */
#ifndef GUEST_RLIMITS_H
#define GUEST_RLIMITS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

#include "base/error.h"

struct rlimit_wish {
	int resource;
	bool has_soft, has_hard;
	rlim_t soft, hard;
};

struct rlimits {
	struct rlimit_wish wishes[RLIMIT_NLIMITS];
	size_t count;
};

/* wanted: the object, or NULL. ERR_INVALID names the limit or the value that is none; path is what
 * messages call the object. */
int rlimits_decode(json_t *wanted, const char *path, struct rlimits *out, struct error *err);
/* Of this process. A soft limit that is not asked for stays, but not above the hard one; a soft one
 * above the present hard one takes that along. -1: errno, and *resource is the one that was
 * refused. Safe between vfork and exec. */
int rlimits_apply(const struct rlimits *limits, int *resource);
/* "nofile"; "?" for a number that is none. */
const char *rlimits_name(int resource);

#endif
