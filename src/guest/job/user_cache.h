/* SPDX-License-Identifier: MIT */
/*
 * Remembers the default user while the files that define this user do not change. To read and parse
 * these files takes a tenth of the time of a short command. To compare the times of the files takes
 * much less.
 */
#ifndef GUEST_USER_CACHE_H
#define GUEST_USER_CACHE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "guest/job/users.h"

#define USER_FILES 3

/* The cache of the default user. If all members are 0, the cache is empty. */
struct user_cache {
	bool filled;
	/* The stat data of the files when they were read. st_nlink is 0 if the file did not
	 * exist. */
	struct stat stamps[USER_FILES];
	struct user user;
};

/* Finds a user like user_resolve(). If `spec` is NULL and the files have not changed, uses the
 * cached user. `etc` must be the same directory at each call. */
int user_cache_resolve(struct user_cache *cache, const char *etc, const char *spec,
		       struct user *out, struct error *err);

#endif
