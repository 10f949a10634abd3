/* SPDX-License-Identifier: MIT */
#include "base/platform/linux/userns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define MORE_OF_THEM "user.max_user_namespaces=10000"

static const struct {
	const char *file;
	long forbids;
	const char *setting;
} table[] = {
	/* A setting that only Debian's kernels have. */
	{"kernel/unprivileged_userns_clone", 0, "kernel.unprivileged_userns_clone=1"},
	{"user/max_user_namespaces", 0, MORE_OF_THEM},
	/* A setting of Ubuntu: a user namespace can be made, but gives its processes no rights. */
	{"kernel/apparmor_restrict_unprivileged_userns", 1,
	 "kernel.apparmor_restrict_unprivileged_userns=0"},
};

const char *userns_setting(const char *proc_sys)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char path[256], value[24] = "";

		snprintf(path, sizeof(path), "%s/%s", proc_sys, table[i].file);
		autofile FILE *f = fopen(path, "re");
		if (f && fgets(value, sizeof(value), f) &&
		    strtol(value, NULL, 10) == table[i].forbids)
			return table[i].setting;
	}
	return NULL;
}

static int say_refused(const char *what, const char *said, const char *setting, struct error *err)
{
	return error_set(err, ERR_UNAVAILABLE, "%s (%.120s)%s%s", what, said,
			 setting ? ": it needs the sysctl " : "", setting ? setting : "");
}

int userns_missing(const struct error *why, struct error *err)
{
	/* ENOSPC: user namespaces are allowed, but the limit on their number is reached. */
	const char *setting = why->errnum == ENOSPC ? MORE_OF_THEM : userns_setting("/proc/sys");

	return say_refused("namespaces cannot be made here", why->msg, setting, err);
}

int userns_refused(const char *said, struct error *err)
{
	return say_refused("bwrap cannot make namespaces here", said, userns_setting("/proc/sys"),
			   err);
}
