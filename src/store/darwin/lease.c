/* SPDX-License-Identifier: MIT */
/*
 * On macOS the lease is a file with a flock. Every process of the workspace inherits the open file
 * description of this file. The lock is released when the last of these processes closes the
 * description or exits. A FIFO, as on Linux, would not work: macOS cannot lock a FIFO, and does not
 * tell a process that has the writing end when the last reader has gone (VNOP_ADVLOCK() in
 * bsd/vfs/kpi_vfs.c and filt_vnode_common() in bsd/vfs/vfs_vnops.c of
 * https://github.com/apple-oss-distributions/xnu).
 *
 * Any process that inherits the lock could release it for all of them. (On Linux, no process can do
 * this.) But on macOS, the processes of a workspace only run programs of microagent. A process that
 * only checks the lease takes a shared lock for a moment. A process that takes the lease waits
 * until no other process is checking the lease.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "contract/kind.h"
#include "store/internal.h"

static int open_lease_file(const struct workspace *ws, int mode)
{
	return openat(ws->fd, LEASE_NAME, mode | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0600);
}

const char *const lease_shown_name = LEASE_NAME;

bool lease_has_its_type(const struct stat *file)
{
	return S_ISREG(file->st_mode);
}

bool lease_place(const struct workspace *ws, char out[LEASE_PLACE])
{
	struct stat st;

	snprintf(out, LEASE_PLACE, "%s/" LEASE_NAME, ws->id);
	return fstatat(ws->fd, LEASE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       !lease_has_its_type(&st);
}

int lease_take(const struct workspace *ws, struct lease *out, struct error *err)
{
	auto_lease struct lease lease = {.life = open_lease_file(ws, O_RDWR | O_CREAT), .lock = -1};
	struct error why = {0};

	if (lease.life < 0)
		return lease_error(ws, errno, err);
	if (flock_until(lease.life, LOCK_EX, limit_deadline(LIMIT_LEASE_LOOK_MS), "the lease",
			&why) < 0)
		return why.code == ERR_TIMEOUT ? lease_busy(ws, lease.life, err)
					       : error_copy(err, &why);
	/* `lock` and `life` are two descriptors of one open file description. The lock belongs to
	 * this description. */
	lease.lock = fcntl(lease.life, F_DUPFD_CLOEXEC, 0);
	if (lease.lock < 0)
		return lease_error(ws, errno, err);
	*out = (struct lease){.life = steal_fd(&lease.life), .lock = steal_fd(&lease.lock)};
	return 0;
}

int lease_look(const struct workspace *ws)
{
	autoclose int fd = ws->fd < 0 ? -1 : open_lease_file(ws, O_RDONLY);

	if (ws->fd < 0)
		errno = ENOENT;
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
		return steal_fd(&fd);
	errno = ENXIO;
	return -1;
}

int lease_wait_over(const struct workspace *ws, int watch, uint64_t deadline_ns, struct error *err)
{
	char what[KIND_NAME_ROOM];

	if (watch < 0)
		return 0;
	kind_name(ws->id, what);
	if (flock_until(watch, LOCK_SH, deadline_ns, what, err) < 0)
		return -1;
	(void)flock(watch, LOCK_UN);
	return 0;
}
