/* SPDX-License-Identifier: MIT */
/*
 * Removal that may be killed. What is removed first loses its name, by one rename to
 * .locks/.gone/<id>, so that a directory under its own name is never half there. What a killed
 * removal has left there is nobody's, and is removed by who removes that name again or makes the
 * next one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "store/internal.h"
#include "store/mountinfo.h"

#define LOCKS ".locks"
#define GONE LOCKS "/.gone"
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---- mounts
 * -------------------------------------------------------------------------------------- */

static bool is_inside(const char *point, const char *path)
{
	size_t len = strlen(path);

	return strncmp(point, path, len) == 0 && (point[len] == '/' || point[len] == '\0');
}

int gone_refuse_mounts(const struct workspace *ws, struct error *err)
{
	struct mountinfo mounts = {0};
	char self[32], path[4096];
	ssize_t len;
	int status = 0;

	if (ws->fd < 0)
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", ws->fd);
	len = readlink(self, path, sizeof(path) - 1);
	/* Where they cannot be told, the removal stops at them. */
	if (len < 0 || mountinfo_read(&mounts, NULL) < 0)
		return 0;
	path[len] = '\0';
	for (size_t i = 0; status == 0 && i < mounts.count; i++)
		if (is_inside(mounts.rows[i].point, path))
			status = error_set(err, ERR_CONFLICT,
					   "%s is a mount point: unmount it first; nothing was "
					   "removed",
					   mounts.rows[i].point);
	mountinfo_free(&mounts);
	return status;
}

/* ---- the place
 * ----------------------------------------------------------------------------------- */

static int open_gone(const struct state_dir *dir)
{
	return openat(dir->fd, GONE, DIR_FLAGS);
}

static int make_gone(const struct state_dir *dir)
{
	static const char *const levels[] = {LOCKS, GONE};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (mkdirat(dir->fd, levels[i], 0700) < 0 && errno != EEXIST)
			return -1;
	return open_gone(dir);
}

/* If nothing is in it any more. */
static void drop_gone(const struct state_dir *dir)
{
	unlinkat(dir->fd, GONE, AT_REMOVEDIR);
}

static int empty(const struct state_dir *dir, int gone, const char *id, struct error *err)
{
	if (path_remove_tree_at(gone, id, err) < 0)
		return error_prefix(err, "%s/" GONE, dir->path);
	drop_gone(dir);
	return 0;
}

/* ---- removed
 * ------------------------------------------------------------------------------------- */

/* Each is lost to somebody who came to his end meanwhile; more are only where no place can be. */
#define ATTEMPTS 1000

enum away {
	AWAY_FAILED = -1,
	AWAY_DONE,
	AWAY_NOT_THERE, /* somebody else has */
	AWAY_STUCK	/* no room for a directory, a mount point */
};

/* AWAY_DONE: *place is a descriptor of where it is now. */
static enum away move_away(const struct state_dir *dir, const char *id, int *place,
			   struct error *err)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		autoclose int gone = make_gone(dir);
		struct stat st;

		if (gone < 0 && errno != ENOENT)
			return AWAY_STUCK;
		if (gone >= 0 && renameat(dir->fd, id, gone, id) == 0) {
			*place = steal_fd(&gone);
			return AWAY_DONE;
		}
		/* What an earlier removal of that name has left. */
		if (errno == EEXIST || errno == ENOTEMPTY) {
			if (path_remove_tree_at(gone, id, err) < 0) {
				error_prefix(err, "%s/" GONE, dir->path);
				return AWAY_FAILED;
			}
		} else if (errno != ENOENT) {
			return AWAY_STUCK;
		} else if (fstatat(dir->fd, id, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			return errno == ENOENT ? AWAY_NOT_THERE : AWAY_STUCK;
		}
		/* Else the last one went out of it, and the place with it. */
	}
	return AWAY_STUCK;
}

int gone_remove(const struct state_dir *dir, const char *id, struct error *err)
{
	autoclose int own = openat(dir->fd, id, DIR_FLAGS), gone = -1;

	if (own < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s/%s", dir->path, id);
	/* A sweep keeps off. */
	(void)flock(own, LOCK_EX | LOCK_NB);
	switch (move_away(dir, id, &gone, err)) {
	case AWAY_DONE:
		return empty(dir, gone, id, err);
	case AWAY_NOT_THERE:
		return 0;
	case AWAY_STUCK:
		return path_remove_tree_at(dir->fd, id, err);
	default:
		return -1;
	}
}

/* 1: somebody is at it just now, or has done it. */
static int take_up(const struct state_dir *dir, int gone, const char *id, struct error *err)
{
	autoclose int own = openat(gone, id, DIR_FLAGS);

	if (own < 0 && errno == ENOENT)
		return 1;
	if (own >= 0 && flock(own, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return 1;
	if (own >= 0 && !fd_has_name(own, gone, id))
		return 1; /* it was done between our look and our lock */
	return empty(dir, gone, id, err);
}

int gone_finish(const struct state_dir *dir, const char *id, struct error *err)
{
	autoclose int gone = open_gone(dir);

	return gone >= 0 && take_up(dir, gone, id, err) < 0 ? -1 : 0;
}

bool gone_has(const struct state_dir *dir, const char *id)
{
	autoclose int gone = open_gone(dir);

	return gone >= 0 && faccessat(gone, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void gone_sweep(const struct state_dir *dir, gone_fn *fn, void *data)
{
	autoclose int gone = open_gone(dir);
	int own = gone >= 0 ? openat(gone, ".", DIR_FLAGS) : -1;
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries))) {
		struct error why = {0};
		int status;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		status = take_up(dir, gone, entry->d_name, &why);
		if (status <= 0 && fn)
			fn(entry->d_name, status < 0 ? &why : NULL, data);
	}
	drop_gone(dir);
}
