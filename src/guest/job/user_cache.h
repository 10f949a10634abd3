/* SPDX-License-Identifier: MIT */
/*
 * Remembers the default user while the files that define this user do not change. To read and parse
 * the files takes a tenth of the time of a short command. To check the times of the files takes
 * much less.
 */
#ifndef GUEST_USER_CACHE_H
#define GUEST_USER_CACHE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "guest/job/users.h"

#define USER_FILES 3

/* A cache. If all members are 0, it remembers no user. */
struct user_cache {
	bool filled;
	/* The stat data of the files, with their times. st_nlink is 0 if the file did not exist. */
	struct stat stamps[USER_FILES];
	struct user user;
};

/* Finds a user like user_resolve(). If `spec` is NULL, uses the cache if its user is still valid.
 * `etc` must be the same directory at each call. */
int user_cache_resolve(struct user_cache *cache, const char *etc, const char *spec,
		       struct user *out, struct error *err);

#endif
