/* SPDX-License-Identifier: MIT */
/*
 * A user namespace shows the same number for all users that it does not know. In the namespace of
 * an ordinary user, this is also the number of the host's root and of each other user. So in /home
 * a directory of another user looks like /home itself, and owners and modes do not tell the two
 * apart. Therefore a directory counts as root's by its name, if root has that directory on every
 * system (file-hierarchy(7)), and if its owner is the owner of "/". If the namespace knows root,
 * "/" has another owner number.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/platform/file.h"
#include "store/internal.h"

/* The number that the kernel shows for an owner that the namespace does not know. */
#define OVERFLOW_UID 65534

static const char *const roots_own[] = {
	"/",	"/boot", "/dev", "/dev/shm",  "/home",	  "/run",     "/run/user",
	"/tmp", "/usr",	 "/var", "/var/home", "/var/lib", "/var/tmp",
};

/* Returns whether uid stands for a user that the namespace does not know. The initial namespace
 * knows all users. */
static bool user_is_nameless(uid_t uid)
{
	autofile FILE *map = uid == OVERFLOW_UID ? fopen("/proc/thread-self/uid_map", "re") : NULL;
	unsigned inside = 0, outside = 0, count = 0;

	/* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers, which fit */
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
