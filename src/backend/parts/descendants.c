/* SPDX-License-Identifier: MIT */
#include "backend/parts/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/linux/process_directory.h"
#include "base/platform/process.h"
#include "base/proc.h"

#define CHILDREN_TEXT 8192

/* Reads the pids of one thread's children as text, such as "12 34 ". For a thread that has ended
 * the text is empty. */
static int read_children(int tasks, const char *thread, char text[CHILDREN_TEXT], struct error *err)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/children", thread);
	autoclose int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, CHILDREN_TEXT - 1) : -1;
	if (n < 0 && errno != ENOENT && errno != ESRCH)
		return error_errno(err, errno, "%s", path);
	if (n == CHILDREN_TEXT - 1)
		return error_set(
			err, ERR_IO,
			"the list of child processes in %s is too long to be read: the virtual machine monitor or a companion has started too many processes",
			path);
	text[n < 0 ? 0 : n] = '\0';
	return 0;
}

/* Returns true if the process descends from `top`. After a pid was listed, its process may end, and
 * a process that does not descend from `top` may get the pid. So the ancestors are checked after
 * the pidfd was opened. If the parent of a process has ended, an earlier ancestor has become its
 * parent. */
static bool is_below(const struct proc *process, pid_t top)
{
	pid_t above = process->pid;

	for (int depth = 0; above > 1 && above != top && depth < DESCENDANTS_MAX; depth++)
		above = process_parent(above);
	return above == top && !process_has_ended(process->pidfd);
}

static int add_below(struct descendants *all, const struct proc *from, pid_t top,
		     struct error *err);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as processes are, and bounded by their number */
static int add_one(struct descendants *all, pid_t pid, pid_t top, struct error *err)
{
	int fd;

	if (pid == all->spared[0] || pid == all->spared[1])
		return 0;
	if (all->count == DESCENDANTS_MAX)
		return error_set(
			err, ERR_IO,
			"the virtual machine monitor and its companions have more than %d processes: one of them has a bug, or was taken over",
			DESCENDANTS_MAX);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 && errno != ESRCH)
		return error_errno(err, errno, "process %d", (int)pid);
	const struct proc process = {pid, fd};
	if (fd < 0 || !is_below(&process, top)) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	all->pids[all->count] = pid;
	all->fds[all->count++] = fd;
	return add_below(all, &process, top, err);
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
static int add_children(struct descendants *all, const char *text, pid_t top, struct error *err)
{
	for (char *end;; text = end) {
		long pid = strtol(text, &end, 10);

		if (end == text)
			return 0;
		if (pid > 1 && add_one(all, (pid_t)pid, top, err) < 0)
			return -1;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
static int add_below(struct descendants *all, const struct proc *from, pid_t top, struct error *err)
{
	char text[CHILDREN_TEXT];
	struct dirent *entry;
	struct error why = {0};
	autoclose int own = process_directory(from->pid, from->pidfd, &why);

	if (own < 0)
		return why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	autodir DIR *dir = process_list(own, "task");
	if (!dir)
		return errno == ENOENT || errno == ESRCH
			       ? 0
			       : error_errno(err, errno, "threads of process %d", (int)from->pid);
	while ((entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		if (read_children(dirfd(dir), entry->d_name, text, err) < 0 ||
		    add_children(all, text, top, err) < 0)
			return -1;
	}
	return 0;
}

int descendants_add(struct descendants *all, const struct proc *from, struct error *err)
{
	return add_below(all, from, from->pid, err);
}

void descendants_kill(const struct descendants *all)
{
	for (size_t i = 0; i < all->count; i++)
		(void)proc_kill(&(struct proc){all->pids[i], all->fds[i]}, NULL);
}

/* Returns true if the thread has memory. For a thread without memory the file statm has the text "0
 * 0 0 ...". */
static bool has_memory(int tasks, const char *thread)
{
	char path[32], text[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/statm", thread);
	autoclose int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n < 0)
		return errno != ENOENT && errno != ESRCH; /* the thread has ended */
	text[n] = '\0';
	return strtoull(text, NULL, 10) > 0;
}

/* Returns true if the process may still have memory. Also returns true for a process whose threads
 * cannot be listed. */
static bool runs_on(int process)
{
	struct dirent *entry;
	bool runs = false;
	autodir DIR *dir = process_list(process, "task");

	errno = 0;
	while (dir && !runs && (entry = readdir(dir))) {
		runs = *entry->d_name != '.' && has_memory(dirfd(dir), entry->d_name);
		errno = 0;
	}
	return runs || !dir || errno;
}

static bool is_gone(const struct proc *process)
{
	struct error why = {0};
	autoclose int own = process_directory(process->pid, process->pidfd, &why);

	if (own < 0)
		return why.code == ERR_NOT_FOUND;
	return !runs_on(own) || process_has_ended(process->pidfd);
}

/* Examines each process once. One time is enough, since a process that is being killed gets no new
 * thread. */
bool descendants_gone(const struct descendants *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (!is_gone(&(struct proc){all->pids[i], all->fds[i]}))
			return false;
	return true;
}

void descendants_close(struct descendants *all)
{
	for (size_t i = 0; i < all->count; i++)
		close(all->fds[i]);
	all->count = 0;
}
