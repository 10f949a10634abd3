/* SPDX-License-Identifier: MIT */
/*
 * The resource limits that a request asks for (setrlimit(2)): {"nofile":{"soft":N,"hard":N},
 * ...}.
 *
 * The command's process sets the limits while it is still root. So only the kernel bounds how far a
 * limit can be raised. This gives a client no more rights: it may also ask to run the command as
 * root.
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

/* Decodes the object `wanted`, which may be NULL. Fails with ERR_INVALID if a limit or a value is
 * wrong; the error names the limit. `path` is the object's name in messages. */
int rlimits_decode(json_t *wanted, const char *path, struct rlimits *out, struct error *err);
/* Sets the limits of this process. A soft limit that is not asked for is kept, or lowered to the
 * new hard limit. A soft limit that is above the old hard limit raises the hard limit too. Returns
 * 0, or -1 with errno; *resource is then the number of the limit that was refused. May be called
 * between vfork and exec. */
int rlimits_apply(const struct rlimits *limits, int *resource);
/* Returns the name of a limit, such as "nofile". Returns "?" for an unknown number. */
const char *rlimits_name(int resource);

#endif
