/* SPDX-License-Identifier: MIT */
#include "supervisor/live/watch_base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool is_same_mtime(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

int watch_base_begin(struct watch_base *watch, const char *path, struct error *err)
{
	struct watch_base made = {.path = strdup(path)};
	char *slash = made.path ? strrchr(made.path, '/') : NULL;

	if (!slash) {
		free(made.path);
		return error_errno(err, made.path ? EINVAL : ENOMEM, "%s", path);
	}
	*slash = '\0';
	made.dir = open(slash == made.path ? "/" : made.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*slash = '/';
	made.name = slash + 1;
	if (made.dir >= 0 && fstatat(made.dir, made.name, &made.was, AT_SYMLINK_NOFOLLOW) == 0) {
		*watch = made;
		return 0;
	}
	error_errno(err, errno, "%s", path);
	cleanup_close(&made.dir);
	free(made.path);
	return -1;
}

static const char *difference(const struct stat *was, const struct stat *now)
{
	if (was->st_dev != now->st_dev || was->st_ino != now->st_ino)
		return "was replaced";
	if (was->st_size != now->st_size || !is_same_mtime(&was->st_mtim, &now->st_mtim))
		return "was written";
	return is_same_mtime(&was->st_ctim, &now->st_ctim) ? NULL : "was given other attributes";
}

/* By its name; where the way there is closed since we have given up root's rights, by its
 * directory. */
static int look_at_file(const struct watch_base *watch, struct stat *now)
{
	if (lstat(watch->path, now) == 0)
		return 0;
	return errno == EACCES ? fstatat(watch->dir, watch->name, now, AT_SYMLINK_NOFOLLOW) : -1;
}

const char *watch_base_look(struct watch_base *watch)
{
	const char *what;
	struct stat now;

	if (!watch->path)
		return NULL;
	what = look_at_file(watch, &now) < 0 ? "is gone" : difference(&watch->was, &now);
	if (!what || (watch->told && strcmp(what, watch->told) == 0))
		return NULL;
	watch->told = what;
	return what;
}

void watch_base_end(struct watch_base *watch)
{
	if (watch->path)
		cleanup_close(&watch->dir);
	free(watch->path);
	*watch = (struct watch_base){0};
}
