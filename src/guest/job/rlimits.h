/* SPDX-License-Identifier: MIT */
/*
 * The resource limits that a request asks for (setrlimit(2)): {"nofile":{"soft":N,"hard":N}, ...}.
 *
 * The command's process sets the limits while it still runs as root. So a request can raise a limit
 * as far as the kernel allows. This gives a client no further rights, since a client may also run
 * the command as root.
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

/* Decodes the object `wanted`, which may be NULL. Fails with ERR_INVALID if the name or value of a
 * limit is wrong; the error names the limit. `path` is the name of the object in error messages. */
int rlimits_decode(json_t *wanted, const char *path, struct rlimits *out, struct error *err);
/* Sets the limits of this process. If only a hard limit is given, the soft limit is kept, or
 * lowered to the new hard limit. If only a soft limit is given and is above the old hard limit, the
 * hard limit is raised too. Returns 0, or -1 with errno set and *resource set to the number of the
 * limit that the kernel refused. May be called between vfork and exec. */
int rlimits_apply(const struct rlimits *limits, int *resource);
/* Returns the name of a limit, such as "nofile", or "?" for an unknown number. */
const char *rlimits_name(int resource);

#endif
