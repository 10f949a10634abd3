/* SPDX-License-Identifier: MIT */
/*
 * Removes workspaces that were never finished. Before the supervisor writes its first record, a
 * workspace is only a directory with a clone of the image, and no list shows this directory. Making
 * the clone can take seconds, and a process that is killed meanwhile cannot clean up. So a process
 * that makes a workspace first makes a mark, and locks it. The kernel releases the lock when the
 * process exits. The next process that makes a workspace removes each directory whose mark is not
 * locked.
 *
 * The marks are files in one directory, .locks/.making/<id>. So finding the abandoned marks takes
 * the same time for any number of workspaces. Each mark is made before the directory of its
 * workspace. A second mark, a file in that directory, says that the directory may be removed. The
 * second mark is needed because a process may have made the first mark and then found that a file
 * with the workspace's name already exists. A directory without the second mark is removed only if
 * it is empty.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/platform/file.h"

#define MARKS ".locks/.making"

static int open_marks(const struct state_dir *dir, struct error *err)
{
	static const char *const levels[] = {".locks", MARKS};
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (mkdirat(dir->fd, levels[i], 0700) < 0 && errno != EEXIST)
			return error_errno(err, errno, "%s/%s", dir->path, levels[i]);
	fd = openat(dir->fd, MARKS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? error_errno(err, errno, "%s/" MARKS, dir->path) : fd;
}

/* Makes a mark. The mark is locked before it gets its name. Otherwise a sweep could find the mark
 * without a lock, and take it for an abandoned one. */
static int link_locked(int marks, const char *id)
{
	autoclose int fd = file_open_nameless(marks, O_RDWR);

	/* If the file system has no nameless files, the mark exists for a moment before it is
	 * locked. */
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return openat(marks, id, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return file_give_name(fd, marks, id) < 0 ? -1 : steal_fd(&fd);
}

/* Opens the mark `id`, or makes it if it does not exist. Returns a descriptor, or -1 with errno
 * set. */
static int open_mark(int marks, const char *id)
{
	int fd;

	do {
		fd = openat(marks, id, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			fd = link_locked(marks, id);
	} while (fd < 0 && errno == EEXIST);
	return fd;
}

/* The largest number of attempts to make a mark. An attempt fails if another process has just
 * removed the directory of marks together with its own mark. If all attempts fail, no mark can be
 * made. */
#define ATTEMPTS 1000

int unfinished_mark(const struct state_dir *dir, const char *id, struct error *err)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		struct error why = {0};
		autoclose int marks = open_marks(dir, &why);
		autoclose int fd = marks < 0 ? -1 : open_mark(marks, id);

		/* ENOENT: another process has just removed the last mark and the directory of
		 * marks, so this process tries again. */
		if (marks < 0 ? why.errnum == ENOENT : fd < 0 && errno == ENOENT)
			continue;
		if (marks < 0)
			return error_copy(err, &why);
		if (fd < 0)
			return error_errno(err, errno, "%s/" MARKS "/%s", dir->path, id);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return error_set(err, ERR_CONFLICT,
					 "another command is making %s/%s: choose another name",
					 dir->path, id);
		if (fd_has_name(fd, marks, id))
			return steal_fd(&fd);
	}
	return error_set(
		err, ERR_IO,
		"%s/" MARKS
		"/%s: the file that marks an unfinished workspace cannot be made, because other commands replace it: try again",
		dir->path, id);
}

int unfinished_own(const struct workspace *ws, struct error *err)
{
	autoclose int fd =
		openat(ws->fd, WORKSPACE_MAKING, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? error_errno(err, errno, "%s/%s/" WORKSPACE_MAKING, ws->dir->path, ws->id)
		      : 0;
}

void unfinished_disown(const struct workspace *ws)
{
	unlinkat(ws->fd, WORKSPACE_MAKING, 0);
}

int unfinished_unmark(const struct state_dir *dir, const char *id, struct error *err)
{
	autofree char *mark = NULL;

	if (asprintf(&mark, MARKS "/%s", id) < 0) {
		mark = NULL;
		return error_errno(err, ENOMEM, "%s/" MARKS "/%s", dir->path, id);
	}
	if (unlinkat(dir->fd, mark, 0) < 0 && errno != ENOENT)
		return error_errno(err, errno, "%s/%s", dir->path, mark);
	unlinkat(dir->fd, MARKS, AT_REMOVEDIR); /* fails unless this was the last mark */
	return 0;
}

/* --- abandoned marks ------------------------------------------------------------------------- */

void unfinished_each_abandoned(const struct state_dir *dir, unfinished_fn *fn, void *data)
{
	autoclose int marks = openat(dir->fd, MARKS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int own = marks >= 0 ? openat(marks, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries))) {
		const char *id = entry->d_name;

		if (microagent_check_name(id, NULL) < 0)
			continue;
		autoclose int fd = openat(marks, id, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !fd_has_name(fd, marks, id))
			continue;
		if (fn(dir, id, data) == 0)
			(void)unfinished_unmark(dir, id, NULL);
	}
	/* Removes the directory of the marks if it is empty: a process may have been killed between
	 * removing the last mark and removing this directory. */
	unlinkat(dir->fd, MARKS, AT_REMOVEDIR);
}

/* Returns 1 if the directory has the file, 0 if not, or -1 if this is unknown. */
static int has_file(int fd, const char *file)
{
	struct stat st;

	if (fstatat(fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -1;
}

/* Finds the state by the first mark alone. The first mark is removed after the second mark, so a
 * workspace without a first mark is finished. */
enum unfinished_state unfinished_marked(const struct state_dir *dir, const char *mark)
{
	autoclose int marks =
		openat(dir->fd, MARKS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autoclose int fd =
		marks < 0 ? -1 : openat(marks, mark, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return UNFINISHED_NOT;
	return flock(fd, LOCK_SH | LOCK_NB) < 0 ? UNFINISHED_UNDER_WAY : UNFINISHED_BROKE_OFF;
}

enum unfinished_state unfinished_of(const struct state_dir *dir, const char *id)
{
	autoclose int fd = openat(dir->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && has_file(fd, WORKSPACE_MAKING) ? unfinished_marked(dir, id)
							 : UNFINISHED_NOT;
}

int unfinished_remove(const struct state_dir *dir, const char *id)
{
	autoclose int fd = openat(dir->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int own, manifest, lease;

	/* ENOENT, ENOTDIR and ELOOP mean that there is no directory. After any other error, the
	 * next sweep checks the directory again. */
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
	own = has_file(fd, WORKSPACE_MAKING);
	manifest = has_file(fd, "workspace.json");
	lease = has_file(fd, "lease");
	if (own < 0 || manifest < 0 || lease < 0)
		return -1;
	/* A workspace with a record is kept, even if its marks still exist. */
	if (own && !manifest && !lease)
		return trash_remove(dir, id, NULL);
	unlinkat(dir->fd, id, AT_REMOVEDIR); /* fails unless the directory is empty */
	return 0;
}

static int unfinished_remove_one(const struct state_dir *dir, const char *id, void *data)
{
	(void)data;
	return unfinished_remove(dir, id);
}

void unfinished_sweep(const struct state_dir *dir)
{
	unfinished_each_abandoned(dir, unfinished_remove_one, NULL);
	trash_sweep(dir, NULL, NULL);
}
