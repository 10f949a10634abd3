/* SPDX-License-Identifier: MIT */
/*
 * Recognises directories of root in a user namespace that does not contain root. A user namespace
 * shows the same owner number for all users that it does not contain. In a namespace that contains
 * only one ordinary user, root and all other users have this number. So the owner and mode of /home
 * can look like those of another user's directory in /home. Therefore a directory counts as root's
 * under two conditions. Its name must be one that belongs to root on every system
 * (file-hierarchy(7)), and its owner number must be that of "/". (If the namespace contains root,
 * the owner number of "/" is 0, so the second condition is false for such directories.)
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/platform/file.h"
#include "store/internal.h"

/* The number that the kernel shows for an owner that the namespace does not contain. */
#define OVERFLOW_UID 65534

static const char *const roots_own[] = {
	"/",	"/boot", "/dev", "/dev/shm",  "/home",	  "/run",     "/run/user",
	"/tmp", "/usr",	 "/var", "/var/home", "/var/lib", "/var/tmp",
};

/* Returns true if `uid` is the number for users that the namespace does not contain. Returns false
 * in the initial namespace, which contains all users. */
static bool user_is_nameless(uid_t uid)
{
	autofile FILE *map = uid == OVERFLOW_UID ? fopen("/proc/thread-self/uid_map", "re") : NULL;
	unsigned inside = 0, outside = 0, count = 0;

	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers fit into the variables */
	return map && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3 &&
	       count <= OVERFLOW_UID;
}

bool dir_is_nameless_roots(int dir, const struct stat *st)
{
	char path[PATH_MAX];
	struct stat top;
	ssize_t n;

	if (!user_is_nameless(st->st_uid) || stat("/", &top) < 0 || top.st_uid != st->st_uid)
		return false;
	n = file_path(dir, path, sizeof(path));
	for (size_t i = 0; n > 0 && i < ARRAY_SIZE(roots_own); i++)
		if ((size_t)n == strlen(roots_own[i]) && memcmp(path, roots_own[i], (size_t)n) == 0)
			return true;
	return false;
}
