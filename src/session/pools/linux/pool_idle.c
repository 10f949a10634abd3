/* SPDX-License-Identifier: MIT */
/*
 * Sets the priority at which a pool is filled. A member's machine inherits the priority of the
 * filler that starts it, but a claimed member must not have the idle priority. So machines start
 * with the idle priority only if this process may raise their priority later. To raise a priority,
 * a process needs CAP_SYS_NICE or a nice limit (RLIMIT_NICE) of 20 or more. Otherwise only the
 * filler itself has the idle priority. Members that wait in the pool use almost no processor time
 * at any priority.
 */
#include <dirent.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/process.h"
#include "session/pools/pool.h"

static int set_policy(pid_t thread, int policy)
{
	const struct sched_param none = {0};

	return sched_setscheduler(thread, policy, &none);
}

static void set_io(pid_t thread, int class)
{
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, thread, IOPRIO_PRIO_VALUE(class, 0));
}

/* Returns true if this process may return to the usual priority after it had the idle priority. A
 * child process tries this, because after a failure the child stays idle, and this process must
 * not. */
static bool can_raise(void)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(set_policy(0, SCHED_IDLE) < 0 || set_policy(0, SCHED_OTHER) < 0 ? 1 : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	return status == 0;
}

void pool_go_idle(bool *raise)
{
	*raise = can_raise();
	(void)set_policy(0, *raise ? SCHED_IDLE : SCHED_IDLE | SCHED_RESET_ON_FORK);
	set_io(0, IOPRIO_CLASS_IDLE);
}

/* --- raising the priority again --------------------------------------------------------------- */

static void raise_threads(pid_t pid)
{
	char path[32];
	autodir DIR *threads = NULL;
	const struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread <= 0)
			continue;
		if (sched_getscheduler(thread) == SCHED_IDLE)
			(void)set_policy(thread, SCHED_OTHER);
		set_io(thread, IOPRIO_CLASS_NONE);
	}
}

static int raise_process(pid_t pid, void *data)
{
	const int *watch = data;

	if (lease_covers(*watch, pid))
		raise_threads(pid);
	return 0;
}

void pool_raise(const struct workspace *ws)
{
	autoclose int watch = lease_watch(ws);

	if (watch >= 0)
		(void)process_each(raise_process, &watch, NULL);
}
