/* SPDX-License-Identifier: MIT */
#include "supervisor/live/watch_base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_same_mtime(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

int watch_base_begin(struct watch_base *watch, const char *path, struct error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return error_errno(err, errno, "%s", path);
	*watch = (struct watch_base){.path = strdup(path), .was = st};
	return watch->path ? 0 : error_errno(err, ENOMEM, "%s", path);
}

static const char *difference(const struct stat *was, const struct stat *now)
{
	if (was->st_dev != now->st_dev || was->st_ino != now->st_ino)
		return "was replaced";
	if (was->st_size != now->st_size || !is_same_mtime(&was->st_mtim, &now->st_mtim))
		return "was written";
	return is_same_mtime(&was->st_ctim, &now->st_ctim) ? NULL : "was given other attributes";
}

const char *watch_base_look(struct watch_base *watch)
{
	const char *what;
	struct stat now;

	if (!watch->path || watch->told)
		return NULL;
	what = lstat(watch->path, &now) < 0 ? "is gone" : difference(&watch->was, &now);
	watch->told = what != NULL;
	return what;
}

void watch_base_end(struct watch_base *watch)
{
	free(watch->path);
	*watch = (struct watch_base){0};
}
