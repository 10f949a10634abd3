/* SPDX-License-Identifier: MIT */
/*
 * Starts, finds and kills the process that fills a pool. The filler's lock is an open file
 * description lock, because such a lock can be tested without taking it. If a test took the lock
 * for an instant, a filler that begins at that instant would think that the pool has another
 * filler.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/proc.h"
#include "channel/program.h"
#include "session/pools/pool.h"

/* --- functions of the filler ------------------------------------------------------------------ */

/* Writes the pid and the start time of this process. With the start time, a reader can tell whether
 * the pid now belongs to another process. */
int pool_filler_sign(int lock, struct error *err)
{
	uint64_t ticks = 0;

	if (proc_start_time(getpid(), &ticks, err) < 0)
		return -1;
	if (ftruncate(lock, 0) < 0 || dprintf(lock, "%d %" PRIu64 "\n", (int)getpid(), ticks) < 0)
		return error_errno(err, errno, POOL_LOCK);
	return 0;
}

int pool_filler_lock(const struct pool *pool, struct error *err)
{
	autoclose int fd = openat(pool->dir.fd, POOL_LOCK,
				  O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fd < 0)
		return error_errno(err, errno, "%s/" POOL_LOCK, pool->dir.path);
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return error_errno(err, errno, "%s/" POOL_LOCK, pool->dir.path);
		return error_set(
			err, ERR_CONFLICT,
			"another process is already filling the pool of %s: wait until it has ended",
			pool->base);
	}
	return steal_fd(&fd);
}

/* --- functions of other processes ------------------------------------------------------------- */

#define LOCK_IN_CHILD 3

/* Starts a filler and passes the lock to it. The caller has taken the lock before the start, so
 * that every process already sees that the pool has a filler. */
static int spawn_filler(const struct microagent *agent, const struct pool *pool, int lock,
			struct error *err)
{
	autofree char *program = program_find("microagent", err);
	const char *const argv[] = {
		program,     "--state-dir", agent->state_path, "pool",	   "fill",
		"--lock-fd", "3",	    "--base",	       pool->base, NULL};
	const struct proc_fd fds[] = {{lock, LOCK_IN_CHILD}};
	const struct proc_spec spec = {
		.argv = argv, .fds = fds, .nfds = ARRAY_SIZE(fds), .cwd = "/"};
	struct proc child = PROC_NONE;
	int code = 0;

	if (!program || proc_spawn(&spec, &child, err) < 0)
		return -1;
	/* The started program makes a daemon and exits. So this process has no child for the time
	 * that the filler runs. */
	if (proc_wait(&child, UINT64_MAX, &code, err) < 0)
		return -1;
	return code ? error_set(
			      err, ERR_IO,
			      "the process that fills the pool of %s did not start: stderr or filler.log of the pool may say why",
			      pool->base)
		    : 0;
}

int pool_filler_start(const struct microagent *agent, const struct pool *pool, struct error *err)
{
	struct error why = {0};
	autoclose int lock = pool_filler_lock(pool, &why);

	if (lock < 0)
		return why.code == ERR_CONFLICT ? 0 : error_copy(err, &why);
	/* Removes the pid of the previous filler, until the new filler has written its own. */
	(void)!ftruncate(lock, 0);
	return spawn_filler(agent, pool, lock, err);
}

/* Opens a handle of the process whose pid is in the lock file. Returns false if the file has no
 * pid, or if that process has exited. */
static bool hold_holder(const struct pool *pool, struct proc *out)
{
	autobuf struct buf text = BUF_INIT(64);
	struct proc holder = PROC_NONE;
	uint64_t ticks = 0;
	char *rest = NULL;
	long pid;

	if (path_read_file_at(pool->dir.fd, POOL_LOCK, &text, NULL) < 0)
		return false;
	pid = strtol(buf_string(&text), &rest, 10);
	if (pid <= 1 || pid > INT32_MAX || *rest != ' ' || proc_hold((pid_t)pid, &holder, NULL) < 0)
		return false;
	if (proc_start_time((pid_t)pid, &ticks, NULL) < 0 || strtoull(rest, NULL, 10) != ticks) {
		proc_let_go(&holder);
		return false;
	}
	*out = holder;
	return true;
}

int pool_filler_end(const struct pool *pool, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_KILL_MS);
	static const struct timespec moment = {.tv_nsec = 5 * (long)NS_PER_MS};

	for (;;) {
		/* The process in `holder` may already have released its lock, and be about to
		 * exit. */
		struct proc holder = PROC_NONE;

		if (hold_holder(pool, &holder)) {
			int status;

			(void)proc_signal(&holder, SIGKILL, NULL);
			status = fd_wait(holder.pidfd, POLLIN, deadline, err);
			proc_let_go(&holder);
			if (status < 0)
				return error_prefix(
					err, "the process that fills the pool of %s has not ended",
					pool->base);
			/* Checks the lock and not the pid, because the pid of a killed filler stays
			 * valid until the filler's parent has reaped the filler. */
			if (!pool_has_filler(pool))
				return 0;
		} else if (!pool_has_filler(pool)) {
			return 0;
		} else if (clock_mono_ns() > deadline) {
			return error_set(
				err, ERR_TIMEOUT,
				"the pool of %s is being filled by a process that was not found: it may run in another container, and must be ended there",
				pool->base);
		} else {
			nanosleep(&moment, NULL); /* a filler holds the lock, and will write its pid
						   * soon */
		}
	}
}
