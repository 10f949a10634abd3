/* SPDX-License-Identifier: MIT */
#include "base/userns_held.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

/* Until it is killed. */
static void hold_namespace(int said, pid_t parent) __attribute__((noreturn));
static void hold_namespace(int said, pid_t parent)
{
	char failed = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWUSER) < 0)
		failed = (char)errno;
	(void)!write(said, &failed, 1);
	while (!failed && getppid() == parent)
		pause();
	_exit(0);
}

int userns_write_map(pid_t pid, const char *file, const char *lines, struct error *err)
{
	size_t len = strlen(lines);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, lines, len) != (ssize_t)len)
		return error_errno(err, errno, "%s", file);
	return 0;
}

static int open_held(pid_t pid, int heard, userns_mapper *map, const void *data, struct error *err)
{
	char failed = 0, path[64];

	if (fd_wait(heard, POLLIN, limit_deadline(LIMIT_CELL_MS), err) < 0)
		return -1;
	if (read(heard, &failed, 1) != 1 || failed)
		return error_errno(err, failed ? failed : EIO, "user namespace");
	if (map(pid, data, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? error_errno(err, errno, "user namespace") : fd;
}

int userns_held(userns_mapper *map, const void *data, const char *what, struct error *err)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (fd_pipe(ends, err) < 0)
		return -1;
	autoclose int heard = ends[0];
	autoclose int said = ends[1];
	pid = fork();
	if (pid == 0)
		hold_namespace(said, parent);
	if (pid < 0)
		return error_errno(err, errno, "fork");
	int fd = open_held(pid, heard, map, data, err);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return fd < 0 ? error_prefix(err, "%s", what) : fd;
}
