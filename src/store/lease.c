/* SPDX-License-Identifier: MIT */
/*
 * The command lock, which is a flock, and the lease, a FIFO.
 *
 * The command lock's file is removed by a holder when there is no workspace to it (any more), or
 * one would be left for every name ever used. A flock belongs to a file and not to its name, so who
 * waited for a file that was removed meanwhile has locked nothing: whoever comes after makes a new
 * file and locks that. Therefore a lock counts only if its file still has the name once the lock is
 * held. From then on it keeps the name, because only a holder removes it; two can never both hold
 * the file that has the name.
 *
 * Every process of the workspace inherits a reading end of the lease. Who looks opens it for
 * writing without waiting, and ENXIO means that nobody reads: the last of them has gone, however it
 * went, and no pid is ever guessed. None of them can let go for another. Who waits holds such a
 * writing end, which hears of the last reader's end.
 *
 * Of two that take it one is refused, by a flock. It belongs to a writing end of its own, which
 * only the taker has and the live supervisor after it: an open description that others inherit
 * could be unlocked by them. A writing end can be opened only while somebody reads, so a taker
 * reads for that moment itself; whoever took the lock waits such moments of others out.
 *
 * Up to version 0.1.0 the lease was a file with a flock that all of them inherited. One that is
 * found is looked at as it was then, and makes room for a FIFO when it is free.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "contract/runtime_id.h"
#include "store/internal.h"

int workspace_lock(const struct state_dir *dir, const char *id, uint64_t deadline_ns,
		   struct error *err)
{
	autoclose int locks = -1;
	char what[192];

	if (runtime_id_check(id, "workspace name", err) < 0)
		return -1;
	snprintf(what, sizeof(what), "workspace \"%s\"", id);
	locks = path_open_dir_at(dir->fd, LOCKS_DIR, true, 0700, err);
	if (locks < 0)
		return error_prefix(err, "%s/" LOCKS_DIR, dir->path);
	for (;;) {
		autoclose int fd =
			openat(locks, id, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			return error_errno(err, errno, "%s/" LOCKS_DIR "/%s", dir->path, id);
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
	autoclose int locks = path_open_dir_at(dir->fd, LOCKS_DIR, false, 0700, NULL);
	char pass[192];

	if (locks < 0)
		return;
	snprintf(pass, sizeof(pass), SHARE_PASS "%s", id);
	(void)unlinkat(locks, pass, 0);
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

static int open_lease(const struct workspace *ws, int mode)
{
	return openat(ws->fd, LEASE_NAME, mode | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_fifo(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* Of an earlier version; nobody has it, or lives by it, any more. */
static int retire_lease(const struct workspace *ws, int fd, struct error *err)
{
	if (flock_until(fd, LOCK_EX, limit_deadline(LIMIT_LEASE_LOOK_MS), "the lease", NULL) < 0)
		return lease_busy(ws, fd, err);
	if (fd_has_name(fd, ws->fd, LEASE_NAME) && unlinkat(ws->fd, LEASE_NAME, 0) < 0)
		return lease_error(ws, errno, err);
	return 0;
}

/* A reading end of a FIFO, which is made where there is none. */
static int read_lease(const struct workspace *ws, struct error *err)
{
	for (;;) {
		autoclose int fd = open_lease(ws, O_RDONLY);

		if (fd < 0 && errno != ENOENT)
			return lease_error(ws, errno, err);
		if (fd >= 0 && is_fifo(fd))
			return steal_fd(&fd);
		if (fd >= 0 && retire_lease(ws, fd, err) < 0)
			return -1;
		if (mkfifoat(ws->fd, LEASE_NAME, 0600) < 0 && errno != EEXIST)
			return lease_error(ws, errno, err);
	}
}

/* The lock of a lease by which nobody lives. */
static int lock_lease(const struct workspace *ws, struct error *err)
{
	autoclose int reading = read_lease(ws, err);
	autoclose int lock = reading < 0 ? -1 : open_lease(ws, O_WRONLY);
	struct error ignored;

	if (reading < 0)
		return -1;
	if (lock < 0)
		return lease_error(ws, errno, err);
	close(steal_fd(&reading));
	if (flock(lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? lease_busy(ws, lock, err)
					    : lease_error(ws, errno, err);
	if (fd_wait(lock, 0, limit_deadline(LIMIT_LEASE_LOOK_MS), &ignored) < 0)
		return lease_busy(ws, lock, err);
	return steal_fd(&lock);
}

int lease_take(const struct workspace *ws, struct lease *out, struct error *err)
{
	auto_lease struct lease lease = {.life = -1, .lock = lock_lease(ws, err)};

	if (lease.lock < 0)
		return -1;
	lease.life = open_lease(ws, O_RDONLY);
	if (lease.life < 0)
		return lease_error(ws, errno, err);
	*out = (struct lease){.life = steal_fd(&lease.life), .lock = steal_fd(&lease.lock)};
	return 0;
}

void lease_drop(struct lease *lease)
{
	cleanup_close(&lease->life);
	cleanup_close(&lease->lock);
}

/* To look at it. -1 with errno: ENOENT where nothing ever lived, ENXIO where nothing does. */
static int look_at_lease(const struct workspace *ws)
{
	if (ws->fd >= 0)
		return open_lease(ws, O_WRONLY);
	errno = ENOENT;
	return -1;
}

static bool is_free(int errnum)
{
	return errnum == ENOENT || errnum == ENXIO;
}

/* What cannot be looked at counts as held: nothing is deleted or started on a guess. */
bool lease_is_held(const struct workspace *ws)
{
	autoclose int fd = look_at_lease(ws);

	if (fd < 0)
		return !is_free(errno);
	return is_fifo(fd) || flock(fd, LOCK_SH | LOCK_NB) < 0;
}

int lease_watch(const struct workspace *ws)
{
	return look_at_lease(ws);
}

int lease_wait_over(const struct workspace *ws, int watch, uint64_t deadline_ns, struct error *err)
{
	char what[192];

	if (watch < 0)
		return 0;
	snprintf(what, sizeof(what), "workspace \"%s\"", ws->id);
	if (!is_fifo(watch))
		return flock_until(watch, LOCK_SH, deadline_ns, what, err);
	return fd_wait(watch, 0, deadline_ns, err) < 0 ? error_prefix(err, "%s is in use", what)
						       : 0;
}

int lease_wait_free(const struct workspace *ws, uint64_t deadline_ns, struct error *err)
{
	autoclose int fd = look_at_lease(ws);

	if (fd < 0 && !is_free(errno))
		return lease_error(ws, errno, err);
	return lease_wait_over(ws, fd, deadline_ns, err);
}
