/* SPDX-License-Identifier: MIT */
/*
 * Remembers the default user as long as the files that define the user do not change. Reading and
 * parsing the files is a tenth of the cost of a short command; checking their times is not.
 */
#ifndef GUEST_USER_CACHE_H
#define GUEST_USER_CACHE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "guest/job/users.h"

#define USER_FILES 3

/* A cache. All zero: nothing is remembered. */
struct user_cache {
	bool filled;
	/* The times of the files; st_nlink is 0 if there was no such file. */
	struct stat stamps[USER_FILES];
	struct user user;
};

/* Finds a user like user_resolve(). If `spec` is NULL, uses the cache if possible. `etc` must be
 * the same at each call. */
int user_cache_resolve(struct user_cache *cache, const char *etc, const char *spec,
		       struct user *out, struct error *err);

#endif
