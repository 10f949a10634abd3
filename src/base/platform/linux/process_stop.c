/* SPDX-License-Identifier: MIT */
#include "base/platform/linux/process_stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/platform/linux/process_directory.h"

/* Returns true if a thread is stopped, traced, or has exited. The line in its file is "12 (name) T
 * 1 ...", in which T is the state. */
static bool stands_still(int tasks, const char *thread)
{
	char path[32], text[128];
	const char *state;
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/stat", thread);
	autoclose int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n < 0)
		return errno == ENOENT || errno == ESRCH;
	text[n] = '\0';
	state = strrchr(text, ')');
	return state && state[1] && strchr("TtZXx", state[2]);
}

static bool all_stand_still(int process)
{
	struct dirent *entry;
	bool still = true;
	autodir DIR *dir = process_list(process, "task");

	errno = 0;
	while (dir && still && (entry = readdir(dir))) {
		still = *entry->d_name == '.' || stands_still(dirfd(dir), entry->d_name);
		errno = 0;
	}
	return dir && still && !errno;
}

int process_stop(const struct proc *process, const char *name, struct error *err)
{
	static const struct timespec moment = {.tv_nsec = (long)NS_PER_MS / 10};
	uint64_t deadline = limit_deadline(LIMIT_SEVER_STOP_MS);
	const int pidfd = process->pidfd;
	autoclose int own = process_directory(process->pid, pidfd, err);

	if (own < 0)
		return -1;
	if (pidfd_send_signal(pidfd, SIGSTOP, NULL, 0) < 0 && errno != ESRCH)
		return error_errno(err, errno, "%s cannot be stopped", name);
	while (!all_stand_still(own)) {
		if (process_has_ended(pidfd))
			return error_set(err, ERR_NOT_FOUND, "process %d has ended",
					 (int)process->pid);
		if (clock_mono_ns() > deadline) {
			(void)pidfd_send_signal(pidfd, SIGCONT, NULL, 0);
			return error_set(
				err, ERR_TIMEOUT,
				"%s cannot be examined, because a thread of it does not stop after a signal to stop: try again",
				name);
		}
		nanosleep(&moment, NULL);
	}
	return 0;
}

bool process_is_stopped(const struct proc *process)
{
	struct error ignored;
	autoclose int own = process_directory(process->pid, process->pidfd, &ignored);

	return own >= 0 && all_stand_still(own);
}

/* Adds both counts of context switches of a thread to *out. Fails with ERR_TIMEOUT if the thread
 * has exited, and with ERR_IO if the kernel does not show the counts. */
static int add_switches(int tasks, const char *thread, uint64_t *out, struct error *err)
{
	static const char wanted[] = "\nvoluntary_ctxt_switches:",
			  forced[] = "\nnonvoluntary_ctxt_switches:";
	const char *first, *second;
	char path[32], text[8192];
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/status", thread);
	autoclose int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n < 0)
		return error_set(
			err, ERR_TIMEOUT,
			"a process of the machine cannot be examined, because one of its threads has ended meanwhile: try again");
	text[n] = '\0';
	first = strstr(text, wanted);
	second = strstr(text, forced);
	if (!first || !second)
		return error_set(
			err, ERR_IO,
			"a process cannot be examined, because the kernel does not show the context switches of its threads");
	*out += strtoull(first + sizeof(wanted) - 1, NULL, 10) +
		strtoull(second + sizeof(forced) - 1, NULL, 10);
	return 0;
}

int process_count_switches(const struct proc *process, uint64_t *out, struct error *err)
{
	autoclose int own = process_directory(process->pid, process->pidfd, err);
	autodir DIR *dir = own < 0 ? NULL : process_list(own, "task");
	const struct dirent *entry;
	uint64_t sum = 0;

	if (own < 0)
		return -1;
	if (!dir || !all_stand_still(own))
		return error_set(
			err, ERR_TIMEOUT,
			"process %d cannot be examined, because it does not stop after a signal to stop: try again",
			(int)process->pid);
	while ((entry = readdir(dir)))
		if (*entry->d_name != '.' && add_switches(dirfd(dir), entry->d_name, &sum, err) < 0)
			return -1;
	*out += sum;
	return 0;
}
