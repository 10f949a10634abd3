/* SPDX-License-Identifier: MIT */
/*
 * The default user, remembered as long as the files that say who it is are the same. Reading and
 * parsing them is a tenth of what a short command costs; looking at their times is not.
 */
#ifndef GUEST_USER_CACHE_H
#define GUEST_USER_CACHE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "guest/job/users.h"

#define USER_FILES 3

/* All zero: nothing is remembered. */
struct user_cache {
	bool filled;
	struct stat stamps[USER_FILES]; /* st_nlink 0: there was no such file */
	struct user user;
};

/* user_resolve(), for spec NULL perhaps from memory. The cache is always for the same etc. */
int user_cache_resolve(struct user_cache *cache, const char *etc, const char *spec,
		       struct user *out, struct error *err);

#endif
