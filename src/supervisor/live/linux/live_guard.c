/* SPDX-License-Identifier: MIT */
/*
 * Makes the guard of a live supervisor. When the live supervisor dies, the kernel ends its
 * children, and their children too, by the signal for which each of them has asked
 * (PR_SET_PDEATHSIG). There is a moment in which this fails: after bwrap has made the process of
 * its cell by clone(), and before that process has called prctl(). If bwrap dies in that moment,
 * the process loses its parent. The process then waits for bwrap for ever, or executes the program
 * for which it was made. In both cases the process keeps the lease.
 *
 * So the supervisor has a parent, the guard. The kernel makes the guard the parent of every process
 * below it that has lost its own parent. When the supervisor has exited, for whatever reason, the
 * guard ends all these processes. The guard is forked at the very beginning, and it reads nothing.
 * The guard has two files open: the lease, so that the workspace counts as running while any
 * process of the workspace lives, and the root file system, only for reading. While the supervisor
 * lives, nothing depends on the guard. If the guard exits, no other process exits with it.
 *
 * When the guest has ended in order, the guard closes the lease and starts the hashing of the root
 * file system, so that the digest is known before a command needs it. No process waits for this
 * digest. Without the lease the guard is no longer a process of the workspace. The guard stops
 * hashing if the file is written to, removed or touched. If the guard is killed before the digest
 * is computed, the only consequence is that the digest is not known.
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

	/* Only this process can reap these children. Until it reaps a child, the child's pid cannot
	 * pass to another process. */
	while (list && fscanf(list, "%15s", number) == 1)
		kill((pid_t)strtol(number, NULL, 10), SIGKILL);
}

/* Returns a descriptor that becomes readable when the contents, the attributes or the number of
 * hard links of the root file system's file change; -1 if the file cannot be watched. */
static int watch_root(int root)
{
	autoclose int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", root);
	if (watch < 0 || inotify_add_watch(watch, path, IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF) < 0)
		return -1;
	return steal_fd(&watch);
}

/* Waits until the file has been unchanged for some time, since the cache does not remember the
 * digest of a file that was written to just before (store/digests.h). Returns false if the file
 * changes meanwhile. */
static bool stays_as_it_is(int watch)
{
	struct pollfd slot = {.fd = watch, .events = POLLIN};
	uint64_t settled = clock_mono_ns() +
			   (limit_get(LIMIT_DIGEST_SETTLED_MS) + SETTLED_MARGIN_MS) * NS_PER_MS;

	return descriptor_poll(&slot, 1, settled) == 0;
}

/* Removes the workspace's name from the title of this process, and then closes the lease. In this
 * order, a command that finds the lease free does not find a process with that name. */
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

/* Waits for the exit of the supervisor, and also reaps other children. Returns the wait status of
 * the supervisor; 0 if the status is not known. */
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
	/* The file is opened again, because its lock belongs to the open file description of the
	 * supervisor's descriptor. The new descriptor has no lock, so the lock ends with the
	 * supervisor. */
	int root = file_reopen(LIVE_ROOTFS, O_RDONLY | O_CLOEXEC);
	const int keep[] = {LIVE_LEASE, root};
	int status;

	fd_close_others(keep, root < 0 ? 1 : 2);
	status = wait_for_supervisor(supervisor);
	/* The children of a killed process become children of the guard, so the list of children is
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
	/* The title is set before the fork, since a command looks for the guard as soon as the
	 * supervisor has answered. */
	(void)lease_guard_role(&ws, role, &ignored);
	live_set_title(live, role);
	process_set_name(LEASE_GUARD);
	live->guard = getpid();
	supervisor = fork();
	if (supervisor > 0)
		be_guard(live, supervisor);
	return supervisor < 0 ? error_errno(err, errno, "guard") : 0;
}
