/* SPDX-License-Identifier: MIT */
/*
 * The command lock and the lease, both flocks.
 *
 * The command lock's file is removed by a holder when there is no workspace to it (any more), or
 * one would be left for every name ever used. A flock belongs to a file and not to its name, so who
 * waited for a file that was removed meanwhile has locked nothing: whoever comes after makes a new
 * file and locks that. Therefore a lock counts only if its file still has the name once the lock is
 * held. From then on it keeps the name, because only a holder removes it; two can never both hold
 * the file that has the name.
 *
 * The lease's exclusive flock belongs to one open description, which every process of the workspace
 * inherits. It is free when the last of them has gone, however it went, and no pid is ever guessed.
 * Readers look with a shared flock held for an instant. A taker that meets one of those waits that
 * instant out; one that meets an exclusive holder is told so at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "contract/runtime_id.h"
#include "store/internal.h"

#define LOCKS ".locks"

int workspace_lock(const struct state_dir *dir, const char *id, uint64_t deadline_ns,
		   struct error *err)
{
	autoclose int locks = -1;
	char what[192];

	if (runtime_id_check(id, "workspace name", err) < 0)
		return -1;
	snprintf(what, sizeof(what), "workspace \"%s\"", id);
	locks = path_open_dir_at(dir->fd, LOCKS, true, 0700, err);
	if (locks < 0)
		return error_prefix(err, "%s/" LOCKS, dir->path);
	for (;;) {
		autoclose int fd =
			openat(locks, id, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			return error_errno(err, errno, "%s/" LOCKS "/%s", dir->path, id);
		if (flock_until(fd, LOCK_EX, deadline_ns, what, err) < 0)
			return -1;
		if (fd_has_name(fd, locks, id))
			return steal_fd(&fd);
		if (clock_mono_ns() >= deadline_ns)
			return error_set(err, ERR_TIMEOUT, "%s is in use", what);
	}
}

int workspace_lock_opened(const struct workspace *ws, uint64_t deadline_ns, struct error *err)
{
	autoclose int lock = workspace_lock(ws->dir, ws->id, deadline_ns, err);

	if (lock < 0 || fd_has_name(ws->fd, ws->dir->fd, ws->id))
		return steal_fd(&lock);
	/* With it went the lock's file, which this has made anew. */
	if (faccessat(ws->dir->fd, ws->id, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		workspace_lock_remove(ws->dir, ws->id);
	return error_set(err, ERR_NOT_FOUND, "workspace \"%s\" has just been removed", ws->id);
}

void workspace_lock_remove(const struct state_dir *dir, const char *id)
{
	autoclose int locks = path_open_dir_at(dir->fd, LOCKS, false, 0700, NULL);

	if (locks >= 0)
		(void)unlinkat(locks, id, 0);
}

static int lease_error(const struct workspace *ws, int errnum, struct error *err)
{
	return error_errno(err, errnum, "%s/%s/" LEASE_NAME, ws->dir->path, ws->id);
}

/* Mostly a machine that reads the disk for somebody, and ends with whoever reads. */
static int lease_busy(const struct workspace *ws, int lease, struct error *err)
{
	char holders[128];
	pid_t first = lease_holders(lease, holders, sizeof(holders));

	if (!first)
		return error_set(err, ERR_CONFLICT, "workspace \"%s\" has a process alive", ws->id);
	return error_set(err, ERR_CONFLICT,
			 "workspace \"%s\" has a process alive: %s; let it finish, or end it with "
			 "`kill %d`",
			 ws->id, holders, (int)first);
}

int lease_take(const struct workspace *ws, struct error *err)
{
	autoclose int fd =
		openat(ws->fd, LEASE_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return lease_error(ws, errno, err);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return steal_fd(&fd);
	if (errno != EWOULDBLOCK)
		return lease_error(ws, errno, err);
	/* A shared lock is to be had only where no exclusive one is: somebody is just looking. */
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return lease_busy(ws, fd, err);
	if (flock_until(fd, LOCK_EX, limit_deadline(LIMIT_LEASE_LOOK_MS), "the lease", NULL) < 0)
		return lease_busy(ws, fd, err);
	return steal_fd(&fd);
}

/* -1 with errno when the lease cannot be looked at; ENOENT where nothing ever lived. */
static int open_lease(const struct workspace *ws)
{
	if (ws->fd < 0) {
		errno = ENOENT;
		return -1;
	}
	return openat(ws->fd, LEASE_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
}

/* What cannot be looked at counts as held: nothing is deleted or started on a guess. */
bool lease_is_held(const struct workspace *ws)
{
	autoclose int fd = open_lease(ws);

	if (fd < 0)
		return errno != ENOENT;
	return flock(fd, LOCK_SH | LOCK_NB) < 0;
}

int lease_wait_free(const struct workspace *ws, uint64_t deadline_ns, struct error *err)
{
	autoclose int fd = open_lease(ws);
	char what[192];

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return lease_error(ws, errno, err);
	snprintf(what, sizeof(what), "workspace \"%s\"", ws->id);
	return flock_until(fd, LOCK_SH, deadline_ns, what, err);
}
