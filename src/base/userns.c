/* SPDX-License-Identifier: MIT */
#include "base/userns.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

static const struct {
	const char *file;
	long forbids;
	const char *setting;
} table[] = {
	/* Debian's own. */
	{"kernel/unprivileged_userns_clone", 0, "kernel.unprivileged_userns_clone=1"},
	{"user/max_user_namespaces", 0, "user.max_user_namespaces=10000"},
	/* Ubuntu's: one may be made, and gives no right. */
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

int userns_refused(const char *said, struct error *err)
{
	const char *setting = userns_setting("/proc/sys");

	return error_set(err, ERR_UNAVAILABLE, "bwrap can make no namespaces here (%.120s)%s%s",
			 said, setting ? ": it needs the sysctl " : "", setting ? setting : "");
}
