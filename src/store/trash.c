/* SPDX-License-Identifier: MIT */
/*
 * Removes directories so that a removal may be killed at any step. First, one rename moves the
 * directory into the trash, to .locks/.gone/<id>. So under its own name, a directory is either
 * complete or gone. A killed removal leaves files in the trash. These files are removed when a
 * directory with the same name is removed, or when the trash is swept, before a workspace is made.
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
#include "base/limits.h"
#include "base/path.h"
#include "store/internal.h"

#define LOCKS ".locks"
#define TRASH LOCKS "/.gone"
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* --- the place ------------------------------------------------------------------------------- */

static int open_trash(const struct state_dir *dir)
{
	return openat(dir->fd, TRASH, DIR_FLAGS);
}

static int make_trash(const struct state_dir *dir)
{
	static const char *const levels[] = {LOCKS, TRASH};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (mkdirat(dir->fd, levels[i], 0700) < 0 && errno != EEXIST)
			return -1;
	return open_trash(dir);
}

/* Removes the trash if it is empty. */
static void drop_trash(const struct state_dir *dir)
{
	unlinkat(dir->fd, TRASH, AT_REMOVEDIR);
}

static int remove_for_good(const struct state_dir *dir, int trash, const char *id,
			   struct error *err)
{
	if (path_remove_tree_at(trash, id, err) < 0)
		return error_prefix(err, "%s/" TRASH, dir->path);
	drop_trash(dir);
	return 0;
}

/* --- removed --------------------------------------------------------------------------------- */

/* The number of attempts. An attempt fails if another removal finishes meanwhile and removes the
 * empty trash. All attempts fail only if no trash can be made. */
#define ATTEMPTS 1000

int trash_remove(const struct state_dir *dir, const char *id, struct error *err)
{
	autoclose int own = openat(dir->fd, id, DIR_FLAGS);

	if (own < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s/%s", dir->path, id);
	/* While this lock is held, no sweep removes the directory at the same time. */
	(void)flock(own, LOCK_EX | LOCK_NB);
	/* The digests are removed first, because after a kill, the command that finishes this
	 * removal finds only the directory in the trash, and not the digests. */
	record_digest_forget(dir, id);
	for (int i = 0; i < ATTEMPTS; i++) {
		autoclose int trash = make_trash(dir);
		struct stat st;

		if (trash < 0 && errno != ENOENT)
			break;
		if (trash >= 0 && renameat(dir->fd, id, trash, id) == 0)
			return remove_for_good(dir, trash, id, err);
		/* The trash still has files of a directory with this name, because an earlier
		 * removal was killed. */
		if (errno == EEXIST || errno == ENOTEMPTY) {
			if (path_remove_tree_at(trash, id, err) < 0)
				return error_prefix(err, "%s/" TRASH, dir->path);
		} else if (errno != ENOENT) {
			break;
		} else if (fstatat(dir->fd, id, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno == ENOENT)
				return 0; /* another process has removed the directory */
			break;
		}
		/* Another attempt is needed, because another removal has emptied and removed the
		 * trash. */
	}
	/* The directory cannot be moved, for example because there is no room for the trash, or
	 * because the directory is a mount point. */
	return path_remove_tree_at(dir->fd, id, err);
}

/* Removes the files that a killed removal has left. Returns 0 if they were removed, 1 if another
 * process is removing them or has removed them, or -1 with err set. With `wait`, first waits until
 * that process releases the lock, because a killed process may hold the lock a moment longer. */
static int remove_leftover(const struct state_dir *dir, int trash, const char *id, bool wait,
			   struct error *err)
{
	autoclose int own = openat(trash, id, DIR_FLAGS);
	struct error why = {0};

	if (own < 0 && errno == ENOENT)
		return 1;
	if (own >= 0 && flock(own, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK &&
	    (!wait ||
	     flock_until(own, LOCK_EX, limit_deadline(LIMIT_COMMAND_LOCK_MS), id, &why) < 0))
		return 1;
	if (own >= 0 && !fd_has_name(own, trash, id))
		return 1; /* another process removed the files before this process had the lock */
	return remove_for_good(dir, trash, id, err);
}

int trash_finish(const struct state_dir *dir, const char *id, struct error *err)
{
	autoclose int trash = open_trash(dir);

	return trash >= 0 && remove_leftover(dir, trash, id, true, err) < 0 ? -1 : 0;
}

bool trash_has(const struct state_dir *dir, const char *id)
{
	autoclose int trash = open_trash(dir);

	return trash >= 0 && faccessat(trash, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void trash_sweep(const struct state_dir *dir, trash_fn *fn, void *data)
{
	autoclose int trash = open_trash(dir);
	int own = trash >= 0 ? openat(trash, ".", DIR_FLAGS) : -1;
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries))) {
		struct error why = {0};
		int status;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		status = remove_leftover(dir, trash, entry->d_name, false, &why);
		if (status <= 0 && fn)
			fn(entry->d_name, status < 0 ? &why : NULL, data);
	}
	drop_trash(dir);
}
