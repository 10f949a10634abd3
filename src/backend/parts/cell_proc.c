/* SPDX-License-Identifier: MIT */
/*
 * Removes /proc from a cell. With /proc, a program that got a file for reading could open it again
 * for writing, if the file's mode allows this to the program's user. For the VMM of an ordinary
 * user, that file could be the disk of a base: the user owns the disk, and may change its mode.
 *
 * QEMU opens memory that is a file only by a name, so a VMM may need one name in /proc. The VMM has
 * /proc until it has opened that name. The guest does not run before that.
 */
#include "backend/parts/cell_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/linux/process_directory.h"

int cell_enter_owner(int ns)
{
	autoclose int user = ioctl(ns, NS_GET_USERNS);

	return geteuid() != 0 && (user < 0 || setns(user, CLONE_NEWUSER) < 0) ? -1 : 0;
}

static void remove_in_child(int report, int mounts) __attribute__((noreturn));
static void remove_in_child(int report, int mounts)
{
	int errnum = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (cell_enter_owner(mounts) < 0 || setns(mounts, CLONE_NEWNS) < 0 ||
	    umount2("/proc", MNT_DETACH) < 0)
		errnum = errno;
	(void)!write(report, &errnum, sizeof(errnum));
	_exit(0);
}

int cell_proc_remove(const struct proc *program, struct error *err)
{
	int ends[2], rc, errnum = 0;
	pid_t pid;
	autoclose int own = process_directory(program->pid, program->pidfd, err);

	if (own < 0)
		return -1;
	autoclose int mounts = openat(own, "ns/mnt", O_RDONLY | O_CLOEXEC);
	if (mounts < 0)
		return error_errno(err, errno, "the cell's /proc");
	if (fd_pipe(ends, err) < 0)
		return -1;
	autoclose int heard = ends[0];
	autoclose int report = ends[1];
	pid = fork();
	if (pid == 0)
		remove_in_child(report, mounts);
	if (pid < 0)
		return error_errno(err, errno, "fork");
	close(steal_fd(&report));
	rc = fd_wait(heard, POLLIN, limit_deadline(LIMIT_CELL_MS), err);
	if (rc == 0 && read(heard, &errnum, sizeof(errnum)) != (ssize_t)sizeof(errnum))
		rc = error_set(
			err, ERR_IO,
			"the cell's /proc was not removed, because the process that removes it died: try again, and report a bug if it happens again");
	else if (rc == 0 && errnum)
		rc = error_errno(err, errnum, "the cell's /proc cannot be removed");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return rc;
}
