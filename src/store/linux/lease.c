/* SPDX-License-Identifier: MIT */
/*
 * On Linux the lease is a FIFO, and every process of the workspace inherits a reading end. A
 * process that checks the lease opens the FIFO for writing, without blocking. The error ENXIO means
 * that the FIFO has no reader, so the last process that held the lease has exited, in whatever way.
 * So no recorded pid is needed. No process can release the lease for another process. A process
 * that waits until the lease is free keeps its writing end open, and the kernel tells it when the
 * last reader has gone.
 *
 * If two processes take the lease at the same time, a flock lets only one of them succeed. The
 * flock belongs to the open file description of a writing end. Only the process that takes the
 * lease has this writing end, and later the live supervisor. Other processes do not inherit the
 * writing end, because they could release the flock. A writing end can be opened only while there
 * is a reader. So a process that tries to take the lease opens a reading end for a moment. The
 * process that gets the flock waits until no other process has such a reading end.
 *
 * The FIFO has a second name (a hard link) in the directory of locks, which no process of the
 * workspace can reach. A live supervisor that was taken over can remove the first name, or put
 * another file in its place. So if the second name exists, the first name is never used to check
 * the lease. A process that takes the lease restores the first name from the second.
 *
 * Every process of the workspace has the FIFO open. In the workspace of an ordinary user, a process
 * can remove all rights from the FIFO by fchmod(). A command that checks the lease restores the
 * rights.
 *
 * Up to version 0.1.0 of microagent, the lease was a file with a flock that all processes
 * inherited. Such a lease is still recognised by its flock. When such a lease is free, it is
 * replaced by a FIFO.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "contract/kind.h"
#include "store/internal.h"

#define LEASE_MODE 0600

const char *const lease_shown_name = NULL;

bool lease_has_its_type(const struct stat *file)
{
	return S_ISFIFO(file->st_mode);
}

static bool is_fifo(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && lease_has_its_type(&st);
}

/* --- the rights of the FIFO -------------------------------------------------------------------- */

/* The largest number of attempts to open the FIFO. A process may remove the rights again and again,
 * but cannot do it between the two calls so many times in a row. */
#define RIGHTS_TRIES 1000

/* Restores the mode of the lease if it is a FIFO. Does not change the mode of any other file.
 * Returns -1 with errno set on failure. */
static int give_rights_back(int dir, const char *name)
{
	autoclose int fifo = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fifo < 0)
		return -1;
	if (is_fifo(fifo) && file_change_mode(fifo, LEASE_MODE) == 0)
		return 0;
	errno = EACCES;
	return -1;
}

static int open_with_rights(int dir, const char *name, int mode)
{
	for (int i = 0;; i++) {
		int fd = openat(dir, name, mode | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0 || errno != EACCES || i == RIGHTS_TRIES ||
		    give_rights_back(dir, name) < 0)
			return fd;
	}
}

static int open_lease(int dir, int mode)
{
	return open_with_rights(dir, LEASE_NAME, mode);
}

/* --- the second name -------------------------------------------------------------------------- */

/* Writes the path of the lease's second name to out, relative to the state directory. */
static void name_kept(const struct workspace *ws, char out[192])
{
	snprintf(out, 192, LOCKS_DIR "/" LEASE_KEPT "%s", ws->id);
}

/* Opens a writing end of the lease by its second name. Returns -1 with errno set on failure. */
static int look_at_kept(const struct workspace *ws)
{
	char kept[192];

	name_kept(ws, kept);
	return open_with_rights(ws->dir->fd, kept, O_WRONLY);
}

/* If the second name exists, makes the first name lead to the same FIFO. ERR_CONFLICT: the first
 * name leads to another file, and a process holds the FIFO with the second name. */
static int put_first_right(const struct workspace *ws, struct error *err)
{
	autoclose int fifo = -1, alive = -1;
	char kept[192];

	name_kept(ws, kept);
	fifo = openat(ws->dir->fd, kept, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fifo < 0)
		return errno == ENOENT ? 0 : lease_error(ws, errno, err);
	if (fd_has_name(fifo, ws->fd, LEASE_NAME))
		return 0;
	alive = look_at_kept(ws);
	if (alive >= 0)
		return lease_busy(ws, alive, err);
	if (errno != ENXIO)
		return lease_error(ws, errno, err);
	/* No process holds the FIFO with the second name. So this FIFO replaces any file with the
	 * first name. If the workspace was moved to another file system, the link cannot be made.
	 * Then the second name is removed, and the caller makes a new FIFO. */
	if (path_remove_tree_at(ws->fd, LEASE_NAME, err) < 0)
		return error_prefix(err, "%s/%s", ws->dir->path, ws->id);
	if (linkat(ws->dir->fd, kept, ws->fd, LEASE_NAME, 0) < 0 && errno != EEXIST &&
	    unlinkat(ws->dir->fd, kept, 0) < 0 && errno != ENOENT)
		return lease_error(ws, errno, err);
	return 0;
}

/* --- the lease -------------------------------------------------------------------------------- */

/*
 * Opens the reading end that the processes of the workspace inherit. With an ordinary reading end,
 * a process that runs as the FIFO's owner could change the FIFO's mode. If the FIFO was opened
 * through a read-only mount, fchmod() fails with EROFS, but reading works. So root opens the FIFO
 * through a read-only mount of the workspace's directory. This mount is not attached to any path.
 * Other users may not mount, so they open the FIFO in the usual way.
 */
static int open_life(const struct workspace *ws)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	autoclose int tree =
		open_tree(ws->fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return open_lease(ws->fd, O_RDONLY);
	return open_lease(tree, O_RDONLY);
}

/* Removes a lease of an earlier version of microagent if no process holds it any more. */
static int retire_lease(const struct workspace *ws, int fd, struct error *err)
{
	if (flock_until(fd, LOCK_EX, limit_deadline(LIMIT_LEASE_LOOK_MS), "the lease", NULL) < 0)
		return lease_busy(ws, fd, err);
	if (fd_has_name(fd, ws->fd, LEASE_NAME) && unlinkat(ws->fd, LEASE_NAME, 0) < 0)
		return lease_error(ws, errno, err);
	return 0;
}

/* Returns a reading end of the FIFO. If the FIFO does not exist, makes it. */
static int read_lease(const struct workspace *ws, struct error *err)
{
	for (;;) {
		autoclose int fd = open_lease(ws->fd, O_RDONLY);

		if (fd < 0 && errno != ENOENT)
			return lease_error(ws, errno, err);
		if (fd >= 0 && is_fifo(fd))
			return steal_fd(&fd);
		if (fd >= 0 && retire_lease(ws, fd, err) < 0)
			return -1;
		if (mkfifoat(ws->fd, LEASE_NAME, LEASE_MODE) < 0 && errno != EEXIST)
			return lease_error(ws, errno, err);
	}
}

/* Takes the lock of a lease that no process holds, and returns the descriptor of the lock. */
static int lock_lease(const struct workspace *ws, struct error *err)
{
	autoclose int reading = read_lease(ws, err);
	autoclose int lock = reading < 0 ? -1 : open_lease(ws->fd, O_WRONLY);
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

bool lease_place(const struct workspace *ws, char out[LEASE_PLACE])
{
	struct stat st;
	char kept[192];

	name_kept(ws, kept);
	if (fstatat(ws->dir->fd, kept, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		snprintf(out, LEASE_PLACE, "%s", kept);
		return !lease_has_its_type(&st);
	}
	snprintf(out, LEASE_PLACE, "%s/" LEASE_NAME, ws->id);
	/* A regular file is a lease of an earlier version of microagent. */
	return fstatat(ws->fd, LEASE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       !lease_has_its_type(&st) && !S_ISREG(st.st_mode);
}

int lease_take(const struct workspace *ws, struct lease *out, struct error *err)
{
	auto_lease struct lease lease = LEASE_NONE;
	char kept[192];

	if (put_first_right(ws, err) < 0)
		return -1;
	lease.lock = lock_lease(ws, err);
	if (lease.lock < 0)
		return -1;
	/* Gives the FIFO a second name (a hard link) in the directory of locks, where the live
	 * supervisor cannot remove it. A failure is ignored, because the lease also works without
	 * the second name, for example if that directory is on another file system. */
	name_kept(ws, kept);
	(void)!linkat(ws->fd, LEASE_NAME, ws->dir->fd, kept, 0);
	lease.life = open_life(ws);
	if (lease.life < 0)
		return lease_error(ws, errno, err);
	*out = (struct lease){.life = steal_fd(&lease.life), .lock = steal_fd(&lease.lock)};
	return 0;
}

int lease_look(const struct workspace *ws)
{
	int fd;

	if (ws->fd < 0) {
		errno = ENOENT;
		return -1;
	}
	fd = look_at_kept(ws);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	/* A lease of an earlier version of microagent is a regular file. Its file exists even if no
	 * process holds the lease, so its flock is checked. */
	autoclose int first = open_lease(ws->fd, O_WRONLY);
	if (first < 0 || is_fifo(first) || flock(first, LOCK_SH | LOCK_NB) < 0)
		return steal_fd(&first);
	errno = ENXIO;
	return -1;
}

int lease_wait_over(const struct workspace *ws, int watch, uint64_t deadline_ns, struct error *err)
{
	char what[KIND_NAME_ROOM];

	if (watch < 0)
		return 0;
	kind_name(ws->id, what);
	if (!is_fifo(watch))
		return flock_until(watch, LOCK_SH, deadline_ns, what, err);
	return fd_wait(watch, 0, deadline_ns, err) < 0 ? error_prefix(err, "%s is in use", what)
						       : 0;
}
