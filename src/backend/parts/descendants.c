/* SPDX-License-Identifier: MIT */
#include "backend/parts/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc.h"

#define CHILDREN_TEXT 8192

/* The children of one thread, as "12 34 "; an ended thread has none. */
static int read_children(pid_t pid, const char *thread, char text[CHILDREN_TEXT], struct error *err)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, thread);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, CHILDREN_TEXT - 1) : -1;
	if (n < 0 && errno != ENOENT && errno != ESRCH)
		return error_errno(err, errno, "%s", path);
	if (n == CHILDREN_TEXT - 1)
		return error_set(err, ERR_IO, "%s is too long", path);
	text[n < 0 ? 0 : n] = '\0';
	return 0;
}

static int add_one(struct descendants *all, pid_t pid, struct error *err)
{
	int fd;

	if (pid == all->spared[0] || pid == all->spared[1])
		return 0;
	if (all->count == DESCENDANTS_MAX)
		return error_set(err, ERR_IO, "the companions have more than %d processes",
				 DESCENDANTS_MAX);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 && errno != ESRCH)
		return error_errno(err, errno, "process %d", (int)pid);
	if (fd >= 0) {
		all->pids[all->count] = pid;
		all->fds[all->count++] = fd;
	}
	return descendants_add(all, pid, err);
}

static int add_children(struct descendants *all, const char *text, struct error *err)
{
	for (char *end;; text = end) {
		long pid = strtol(text, &end, 10);

		if (end == text)
			return 0;
		if (pid > 1 && add_one(all, (pid_t)pid, err) < 0)
			return -1;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as processes are, and bounded by their number */
int descendants_add(struct descendants *all, pid_t pid, struct error *err)
{
	char path[32], text[CHILDREN_TEXT];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	autodir DIR *dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", path);
	while ((entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		if (read_children(pid, entry->d_name, text, err) < 0 ||
		    add_children(all, text, err) < 0)
			return -1;
	}
	return 0;
}

void descendants_kill(const struct descendants *all)
{
	for (size_t i = 0; i < all->count; i++)
		(void)proc_kill(&(struct proc){all->pids[i], all->fds[i]}, NULL);
}

static bool has_ended(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* Of a thread; "0 0 0 ..." without any. */
static bool has_memory(int tasks, const char *thread)
{
	char path[32], text[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/statm", thread);
	autoclose int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n < 0)
		return errno != ENOENT && errno != ESRCH; /* ended since it was listed */
	text[n] = '\0';
	return strtoull(text, NULL, 10) > 0;
}

/* That cannot be listed, it may have. */
static bool runs_on(pid_t pid)
{
	char path[32];
	struct dirent *entry;
	bool runs = false;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	autodir DIR *dir = opendir(path);
	errno = 0;
	while (dir && !runs && (entry = readdir(dir))) {
		runs = *entry->d_name != '.' && has_memory(dirfd(dir), entry->d_name);
		errno = 0;
	}
	return runs || !dir || errno;
}

/* No thread is born to a process that is being killed, so one look at each is enough; and the pid
 * is its own as long as the pidfd says that it has not ended. */
bool descendants_gone(const struct descendants *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (!has_ended(all->fds[i]) && runs_on(all->pids[i]) && !has_ended(all->fds[i]))
			return false;
	return true;
}

void descendants_close(struct descendants *all)
{
	for (size_t i = 0; i < all->count; i++)
		close(all->fds[i]);
	all->count = 0;
}
