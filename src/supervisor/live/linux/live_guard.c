/* SPDX-License-Identifier: MIT */
/*
 * Makes the guard of a live supervisor. When the live supervisor dies, the kernel ends its
 * children, and their children too, by the signal for which each of them has asked
 * (PR_SET_PDEATHSIG). There is a moment in which this does not work: after bwrap has made the
 * process of its cell by clone(), and before that process has called prctl(). If bwrap dies in that
 * moment, the process has no parent. It then waits for bwrap for ever, or becomes the program for
 * which it was made, and it holds the lease.
 *
 * So the supervisor has a parent, the guard. The kernel makes the guard the parent of every process
 * below it that has lost its own parent. When the supervisor has ended, for whatever reason, the
 * guard ends all these processes. The guard is forked at the very beginning, and it reads nothing.
 * It has two files open: the lease, so that the workspace counts as running while any process of
 * the workspace is left, and the root file system, only for reading. While the supervisor lives,
 * nothing depends on the guard. No process ends because the guard ends, since the guard could end
 * in the moment described above.
 *
 * When the guest has ended in order, the guard gives the lease back, and lets the root file system
 * be hashed. So its digest is known before a command asks for it. No process waits for this digest.
 * The guard is not a part of the workspace any more, and gives up if the file is written to,
 * removed or touched. If the guard is killed before it has the digest, only the digest is not
 * known.
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

	/* Only this process can reap these children. Until it has reaped a child, the kernel gives
	 * the child's pid to no other process. */
	while (list && fscanf(list, "%15s", number) == 1)
		kill((pid_t)strtol(number, NULL, 10), SIGKILL);
}

/* Returns a descriptor that becomes readable when the file of the root file system changes its
 * contents, its attributes or its number of names; -1 if the file cannot be watched. */
static int watch_root(int root)
{
	autoclose int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", root);
	if (watch < 0 || inotify_add_watch(watch, path, IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF) < 0)
		return -1;
	return steal_fd(&watch);
}

/* Waits until the file has not changed for some time, since the memory of digests takes no file
 * that was written to just before. Returns false if the file changes meanwhile. */
static bool stays_as_it_is(int watch)
{
	struct pollfd slot = {.fd = watch, .events = POLLIN};
	uint64_t settled = clock_mono_ns() +
			   (limit_get(LIMIT_DIGEST_SETTLED_MS) + SETTLED_MARGIN_MS) * NS_PER_MS;

	return descriptor_poll(&slot, 1, settled) == 0;
}

/* Removes the workspace's name from the title of this process, and only then gives the lease back.
 * So a command that finds the lease free finds no process with that name. */
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

/* Waits for the end of the supervisor, and also reaps other children. Returns the wait status of
 * the supervisor; 0 if it is not known. */
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
	/* The file is opened again, since the lock belongs to the supervisor's descriptor. So the
	 * new descriptor has no lock, and the lock ends with the supervisor. */
	int root = file_reopen(LIVE_ROOTFS, O_RDONLY | O_CLOEXEC);
	const int keep[] = {LIVE_LEASE, root};
	int status;

	fd_close_others(keep, root < 0 ? 1 : 2);
	status = wait_for_supervisor(supervisor);
	/* The children of a killed process become children of the guard. So the list of children is
	 * read again. */
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
	/* The title is set before the fork, since a command looks for the guard of a supervisor as
	 * soon as the supervisor answers. */
	(void)lease_guard_role(&ws, role, &ignored);
	live_set_title(live, role);
	process_set_name(LEASE_GUARD);
	live->guard = getpid();
	supervisor = fork();
	if (supervisor > 0)
		be_guard(live, supervisor);
	return supervisor < 0 ? error_errno(err, errno, "guard") : 0;
}
