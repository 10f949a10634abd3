/* SPDX-License-Identifier: MIT */
#include "base/platform/linux/userns_held.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Starts a child that holds a new user namespace until the child is killed. The child is in the
 * namespace from its start, so the caller need not wait until it runs. The system call is made
 * directly, because the C library's fork() has no flags. */
static pid_t hold_namespace(void)
{
	pid_t parent = getpid();
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	return pid;
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

int userns_held(userns_mapper *map, const void *data, const char *what, struct error *err)
{
	pid_t pid = hold_namespace();
	char path[64];
	int fd = -1;

	if (pid < 0)
		return error_errno(err, errno, "%s: user namespace", what);
	if (map(pid, data, err) == 0) {
		snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			error_errno(err, errno, "user namespace");
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return fd < 0 ? error_prefix(err, "%s", what) : fd;
}
