/* SPDX-License-Identifier: MIT */
#include "base/platform/process_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/path.h"

int process_each(process_fn *fn, void *data, struct error *err)
{
	autodir DIR *processes = opendir("/proc");
	const struct dirent *entry;

	if (!processes)
		return error_errno(err, errno, "/proc");
	while ((entry = readdir(processes))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && fn(data, pid, err) < 0)
			return -1;
	}
	return 0;
}

int process_title(pid_t pid, struct buf *out)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	return path_read_file_at(AT_FDCWD, path, out, NULL);
}
