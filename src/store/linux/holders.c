/* SPDX-License-Identifier: MIT */
/*
 * Who holds a lease: the processes that read it, as far as /proc shows them to us. Who has a
 * writing end only looks on, and its end ends nothing: a link in /proc/PID/fd has the permissions
 * that its descriptor was opened with.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/internal.h"

/* The name is looked at first: asking a file of a dead network disk could hang. */
static bool is_lease(int fds, const char *name, const struct stat *lease)
{
	char target[4096];
	ssize_t n = readlinkat(fds, name, target, sizeof(target));
	const size_t tail = strlen("/" LEASE_NAME);
	struct stat link, st;

	return n >= (ssize_t)tail && memcmp(target + n - tail, "/" LEASE_NAME, tail) == 0 &&
	       fstatat(fds, name, &link, AT_SYMLINK_NOFOLLOW) == 0 && link.st_mode & S_IRUSR &&
	       fstatat(fds, name, &st, 0) == 0 && st.st_dev == lease->st_dev &&
	       st.st_ino == lease->st_ino;
}

static bool has_open(int process, const struct stat *lease)
{
	autoclose int fds = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = fds >= 0 ? fdopendir(fds) : NULL;
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = is_lease(dirfd(dir), entry->d_name, lease);
	if (dir)
		steal_fd(&fds); /* the stream's own */
	return found;
}

/* Up to 15 characters, "" when it is not to be had. */
static void read_name(int process, char name[17])
{
	autoclose int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, name, 16) : 0;

	name[n > 0 ? n : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

void lease_each_holder(int lease, lease_holder_fn *fn, void *data)
{
	autodir DIR *proc = opendir("/proc");
	struct dirent *entry;
	struct stat st;
	char name[17];

	while (proc && fstat(lease, &st) == 0 && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || pid == getpid())
			continue;
		autoclose int process =
			openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process < 0 || !has_open(process, &st))
			continue;
		read_name(process, name);
		fn(data, pid, name);
	}
}
