/* SPDX-License-Identifier: MIT */
/*
 * Waits for a flock with a deadline. The kernel wakes a process that waits in flock(2) as soon as
 * the lock is free, but flock(2) has no time limit, and a library should not use a timer signal. So
 * a helper process waits. A flock belongs to an open file description, which the helper shares with
 * this process. So if the helper gets the lock, this process has it too. This process waits for the
 * helper's pidfd, and kills the helper at the deadline. The helper has no exit signal. So the
 * caller's signal handlers get no SIGCHLD, and a waitpid(-1) of the caller does not return the
 * helper.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "store/store.h"

/* Waits for the lock in the helper. Makes only system calls and calls no function that takes a
 * mutex: the helper's memory is a copy of the caller's memory, and a mutex that another thread of
 * the caller held at that time is never released in the copy. */
static void wait_for_flock(int fd, int operation, pid_t parent) __attribute__((noreturn));
static void wait_for_flock(int fd, int operation, pid_t parent)
{
	int result;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	do
		result = flock(fd, operation);
	while (result < 0 && errno == EINTR);
	_exit(result < 0 ? errno : 0);
}

int flock_until(int fd, int operation, uint64_t deadline_ns, const char *what, struct error *err)
{
	struct error wait_error = {0};
	pid_t parent = getpid();
	siginfo_t info;
	int pidfd = -1, waited;
	long pid;

	if (flock(fd, operation | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return error_errno(err, errno, "lock %s", what);
	/* The exit signal is the low byte of the flags. The low byte of CLONE_PIDFD is 0, so the
	 * helper has no exit signal. */
	pid = syscall(SYS_clone, CLONE_PIDFD, NULL, &pidfd, NULL, 0);
	if (pid == 0)
		wait_for_flock(fd, operation, parent);
	if (pid < 0)
		return error_errno(err, errno, "start a process that waits for a lock");
	waited = fd_wait(pidfd, POLLIN, deadline_ns, &wait_error);
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
		;
	close(pidfd);
	/* If the helper got the lock, even just before it was killed, this process has it too, and
	 * this call succeeds. */
	if (flock(fd, operation | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return error_errno(err, errno, "lock %s", what);
	if (waited == 0)
		return error_set(
			err, ERR_IO,
			"the lock of %s was not taken, because a signal ended the wait for it: try again",
			what);
	error_copy(err, &wait_error);
	return error_prefix(err, "%s is in use", what);
}
