/* SPDX-License-Identifier: MIT */
#include "guest/job/user_cache.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"

static const char *const files[USER_FILES] = {"passwd", "group", "microagent/user"};

static bool same_timespec(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_files(const struct stat a[USER_FILES], const struct stat b[USER_FILES])
{
	for (size_t i = 0; i < USER_FILES; i++)
		if (a[i].st_dev != b[i].st_dev || a[i].st_ino != b[i].st_ino ||
		    a[i].st_nlink != b[i].st_nlink || a[i].st_size != b[i].st_size ||
		    !same_timespec(&a[i].st_mtim, &b[i].st_mtim) ||
		    !same_timespec(&a[i].st_ctim, &b[i].st_ctim))
			return false;
	return true;
}

/*
 * Returns true if a later change of the files would also change their times. The kernel takes the
 * times from a clock that advances only at its ticks. So a file that was changed a moment ago can
 * change again and keep its time. Returns false if a time is in the future, since the clock was
 * then set back.
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
	struct stat stamps[USER_FILES] = {0};
	char path[USER_PATH_MAX];

	if (spec)
		return user_resolve(etc, spec, out, err);
	for (size_t i = 0; i < USER_FILES; i++)
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", etc, files[i]) >= sizeof(path) ||
		    stat(path, &stamps[i]) < 0)
			stamps[i] = (struct stat){0};
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
