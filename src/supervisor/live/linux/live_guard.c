/* SPDX-License-Identifier: MIT */
/*
 * When the live supervisor dies, the kernel ends its children, and their children too, by the
 * signal that each has asked for (PR_SET_PDEATHSIG). There is a moment in which this does not hold:
 * between the clone() by which bwrap makes the process in its cell and that process's own prctl().
 * If bwrap dies in that moment, the process has no parent. It waits for ever for a word of bwrap,
 * or becomes the program that it was made for, and it has the lease.
 *
 * So the supervisor has a parent, the guard. The kernel gives the guard every process below it that
 * has lost its own parent. The guard ends all of them once the supervisor has ended, for whatever
 * reason. The guard is forked before anything is known, and it reads nothing. It has two files
 * open: the lease, so that the workspace lives as long as any part of it, and the root file system,
 * only for reading. During the supervisor's life nothing depends on the guard. Nothing is bound to
 * the guard's end, since that end could come in the same moment.
 *
 * When the guest has ended in order, the guard gives the lease back and has the root file system
 * hashed, so that its digest is known when somebody asks for it. No process waits for that: the
 * guard is no part of the workspace any more, and gives up when the file is written to, removed or
 * touched. If the guard is killed before, only the digest is not known.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/descriptor.h"
#include "base/platform/file.h"
#include "base/platform/process.h"
#include "channel/hasher.h"
#include "store/store.h"
#include "supervisor/handover/ticket.h"
#include "supervisor/live/live.h"

#define SETTLED_MARGIN_MS 100

static void kill_children(void)
{
	autofile FILE *list = fopen("/proc/thread-self/children", "re");
	char number[16];

	/* They are ours to reap, so the numbers are theirs. */
	while (list && fscanf(list, "%15s", number) == 1)
		kill((pid_t)strtol(number, NULL, 10), SIGKILL);
}

/* Returns a descriptor that becomes readable when the file of root changes its contents or its
 * number of names; -1: there is none. */
static int watch_root(int root)
{
	autoclose int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", root);
	if (watch < 0 || inotify_add_watch(watch, path, IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF) < 0)
		return -1;
	return steal_fd(&watch);
}

/* Waits, since the memory of digests takes no file that has just been written to. Returns whether
 * the file stays as it is. */
static bool stays_as_it_is(int watch)
{
	struct pollfd slot = {.fd = watch, .events = POLLIN};
	uint64_t settled = clock_mono_ns() +
			   (limit_get(LIMIT_DIGEST_SETTLED_MS) + SETTLED_MARGIN_MS) * NS_PER_MS;

	return descriptor_poll(&slot, 1, settled) == 0;
}

/* Takes the workspace's name out of the process's title, and only then gives the lease back. Another
 * command that finds the lease free then finds no process with that name. */
static void leave_workspace(const struct live *live)
{
	struct live nameless = *live;

	nameless.label = "";
	live_set_title(&nameless, "digest");
	process_set_name("ma-digest");
	close(LIVE_LEASE);
}

static void hash_root(int root)
{
	autoclose int watch = -1;
	char sha256[DIGEST_TEXT];
	struct error ignored;

	if (fd_fill_standard(&ignored) < 0 || nice(19) < 0)
		return;
	watch = watch_root(root);
	if (watch < 0 || !stays_as_it_is(watch))
		return;
	digest_cancel_by(watch);
	(void)digest_of(root, DIGEST_FILE, sha256, &ignored);
}

/* Waits for the supervisor and returns how it has ended, as waitpid() tells it. */
static int wait_for_supervisor(pid_t supervisor)
{
	int status = 0;
	pid_t ended;

	do
		ended = waitpid(-1, &status, 0);
	while (ended != supervisor && (ended > 0 || errno == EINTR));
	return ended == supervisor ? status : 0;
}

static void be_guard(const struct live *live, pid_t supervisor) __attribute__((noreturn));
static void be_guard(const struct live *live, pid_t supervisor)
{
	/* With no lock on it, which goes with the supervisor's own descriptor. */
	int root = file_reopen(LIVE_ROOTFS, O_RDONLY | O_CLOEXEC);
	const int keep[] = {LIVE_LEASE, root};
	int status;

	fd_close_others(keep, root < 0 ? 1 : 2);
	status = wait_for_supervisor(supervisor);
	/* Those of the killed come to us in turn. */
	do
		kill_children();
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
	if (root >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == LIVE_EXIT_AT_REST) {
		leave_workspace(live);
		hash_root(root);
	}
	_exit(0);
}

int live_guard_begin(struct live *live, struct error *err)
{
	const struct workspace ws = {.fd = LIVE_WORKSPACE};
	char role[LEASE_GUARD_ROLE] = "guard";
	struct error ignored;
	pid_t supervisor;

	if (process_adopt_orphans() < 0)
		return error_errno(err, errno, "guard");
	/* Before there is a supervisor: one that answers is to be found by its guard. */
	(void)lease_guard_role(&ws, role, &ignored);
	live_set_title(live, role);
	process_set_name(LEASE_GUARD);
	live->guard = getpid();
	supervisor = fork();
	if (supervisor > 0)
		be_guard(live, supervisor);
	return supervisor < 0 ? error_errno(err, errno, "guard") : 0;
}
