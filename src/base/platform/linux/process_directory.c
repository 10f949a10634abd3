/* SPDX-License-Identifier: MIT */
#include "base/platform/linux/process_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

#include "base/cleanup.h"

bool process_has_ended(int pidfd)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	return poll(&ended, 1, 0) == 1;
}

int process_directory(pid_t pid, int pidfd, struct error *err)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno != ENOENT)
		return error_errno(err, errno, "%s", path);
	/* If the process still lives, its pid has belonged to no other process since pidfd was
	 * opened. So the directory is that of this process. */
	if (dir < 0 || pidfd < 0 || process_has_ended(pidfd))
		return error_set(err, ERR_NOT_FOUND, "process %d has ended", (int)pid);
	return steal_fd(&dir);
}

DIR *process_list(int directory, const char *name)
{
	autoclose int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (list)
		steal_fd(&fd); /* `list` owns the descriptor from now on */
	return list;
}
