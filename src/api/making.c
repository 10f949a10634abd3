/* SPDX-License-Identifier: MIT */
/*
 * Directories in the making. Between mkdir and the supervisor's first record there is a directory
 * with a clone of the image in it and nothing that lists it; a clone can take seconds, and a process
 * that is killed meanwhile cannot clean up. So its maker leaves a mark, and holds a lock on it that
 * goes when the process does. Whoever makes the next workspace removes what is marked and held by
 * nobody. Directories without the mark are never touched, whatever they hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/path.h"

#define MARK WORKSPACE_MAKING
#define MARK_UNLOCKED WORKSPACE_MAKING ".new"

int making_mark(const struct workspace *ws, struct error *err)
{
	autoclose int fd = openat(ws->fd, MARK_UNLOCKED,
				  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	/* It gets its name when it is locked: a sweep in between would take it for abandoned. */
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ||
	    renameat(ws->fd, MARK_UNLOCKED, ws->fd, MARK) < 0)
		return error_errno(err, errno, "%s/%s/" MARK, ws->dir->path, ws->id);
	return steal_fd(&fd);
}

void making_unmark(const struct workspace *ws)
{
	unlinkat(ws->fd, MARK, 0);
}

/* Marked, and its maker is gone. A recorded workspace is one, even if the mark was left. */
static bool is_abandoned(int fd)
{
	autoclose int mark = openat(fd, MARK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (mark < 0 || flock(mark, LOCK_EX | LOCK_NB) < 0)
		return false;
	return fstatat(fd, "workspace.json", &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT &&
	       fstatat(fd, "lease", &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

void making_sweep(const struct state_dir *dir)
{
	int own = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries))) {
		autoclose int fd = -1;

		if (microagent_check_name(entry->d_name, NULL) < 0)
			continue;
		fd = openat(dir->fd, entry->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* What cannot be removed now is tried again by the next one. */
		if (fd >= 0 && is_abandoned(fd))
			path_remove_tree_at(dir->fd, entry->d_name, NULL);
	}
}
