/* SPDX-License-Identifier: MIT */
/*
 * When the live supervisor dies the kernel ends its children, and theirs with them, by the signal
 * that each has asked for (PR_SET_PDEATHSIG). There is a moment in which that does not hold:
 * between the clone() by which bwrap makes the process in its cell and that process's own prctl().
 * If bwrap dies in it, the process is nobody's, and waits for ever for a word of bwrap's or becomes
 * what it was to be, with the lease.
 *
 * So the supervisor has a parent, to which the kernel gives whatever below it has lost its own. It
 * ends all of them once the supervisor has ended, however it has. It is forked before anything is
 * known, reads nothing and has nothing open but the lease, so that the workspace lives until
 * nothing of it does. Nobody depends on it in the supervisor's lifetime, and nothing is bound to
 * its end, lest that came in such a moment.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/platform/process.h"
#include "store/store.h"
#include "supervisor/handover/ticket.h"
#include "supervisor/live/live.h"

static void kill_children(void)
{
	autofile FILE *list = fopen("/proc/thread-self/children", "re");
	char number[16];

	/* They are ours to reap, so the numbers are theirs. */
	while (list && fscanf(list, "%15s", number) == 1)
		kill((pid_t)strtol(number, NULL, 10), SIGKILL);
}

static void be_guard(const struct live *live, pid_t supervisor) __attribute__((noreturn));
static void be_guard(const struct live *live, pid_t supervisor)
{
	const int keep[] = {LIVE_LEASE};
	pid_t ended;

	live_set_title(live, "guard");
	process_set_name(LEASE_GUARD);
	fd_close_others(keep, ARRAY_SIZE(keep));
	do
		ended = waitpid(-1, NULL, 0);
	while (ended != supervisor && (ended > 0 || errno == EINTR));
	/* Those of the killed come to us in turn. */
	do
		kill_children();
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
	_exit(0);
}

int live_guard_begin(struct live *live, struct error *err)
{
	pid_t supervisor;

	if (process_adopt_orphans() < 0)
		return error_errno(err, errno, "guard");
	live->guard = getpid();
	supervisor = fork();
	if (supervisor > 0)
		be_guard(live, supervisor);
	return supervisor < 0 ? error_errno(err, errno, "guard") : 0;
}
