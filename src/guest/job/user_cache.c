/* SPDX-License-Identifier: MIT */
#include "guest/job/user_cache.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"

static const char *const files[USER_FILES] = {"passwd", "group", "microagent/user"};

static void stat_databases(const char *etc, struct stat stamps[USER_FILES])
{
	char path[USER_PATH_MAX];

	memset(stamps, 0, USER_FILES * sizeof(*stamps));
	for (size_t i = 0; i < USER_FILES; i++)
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", etc, files[i]) >= sizeof(path) ||
		    stat(path, &stamps[i]) < 0)
			stamps[i] = (struct stat){0};
}

static bool same_timespec(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_nlink == b->st_nlink &&
	       a->st_size == b->st_size && same_timespec(&a->st_mtim, &b->st_mtim) &&
	       same_timespec(&a->st_ctim, &b->st_ctim);
}

static bool same_files(const struct stat a[USER_FILES], const struct stat b[USER_FILES])
{
	for (size_t i = 0; i < USER_FILES; i++)
		if (!same_file(&a[i], &b[i]))
			return false;
	return true;
}

/*
 * Times advance by the kernel's tick: a file that was changed a moment ago can change once more
 * without showing it. A time in the future is one of a clock that was set back.
 */
static bool settled(const struct stat stamps[USER_FILES])
{
	uint64_t now = clock_real_ns(), age = limit_get(LIMIT_USER_SETTLED_MS) * NS_PER_MS;

	for (size_t i = 0; i < USER_FILES; i++) {
		const struct timespec *t = &stamps[i].st_ctim;
		uint64_t changed = (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_nsec;

		if (t->tv_sec < 0 || changed > now || now - changed < age)
			return false;
	}
	return true;
}

int user_cache_resolve(struct user_cache *cache, const char *etc, const char *spec,
		       struct user *out, struct error *err)
{
	struct stat stamps[USER_FILES];

	if (spec)
		return user_resolve(etc, spec, out, err);
	stat_databases(etc, stamps);
	if (!cache->filled || !same_files(cache->stamps, stamps)) {
		cache->filled = false;
		if (user_resolve(etc, NULL, &cache->user, err) < 0)
			return -1;
		memcpy(cache->stamps, stamps, sizeof(stamps));
		cache->filled = settled(stamps);
	}
	*out = cache->user;
	return 0;
}
