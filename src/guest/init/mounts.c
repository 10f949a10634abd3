/* SPDX-License-Identifier: MIT */
#include "guest/init/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/console.h"

struct mount_row {
	const char *type, *target;
	unsigned long flags;
	const char *options;
	mode_t mode; /* the mode of the mount point, if this program creates it */
	bool early;  /* the file system is also mounted in the initramfs */
	bool quiet;  /* a failure is not reported, since many kernels lack this file system */
};

/* The guest's file systems, in the order in which they are mounted. The order matters, since some
 * mount points are in file systems that come earlier in the table. */
static const struct mount_row mount_table[] = {
	{"devtmpfs", "/dev", MS_NOSUID | MS_NOEXEC, "mode=0755", 0755, true, false},
	{"proc", "/proc", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL, 0555, true, false},
	{"sysfs", "/sys", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL, 0555, true, false},
	{"devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "gid=5,mode=620,ptmxmode=666", 0755, false,
	 false},
	{"tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777", 01777, false, false},
	{"tmpfs", "/run", MS_NOSUID | MS_NODEV, "mode=0755", 0755, false, false},
	{"cgroup2", "/sys/fs/cgroup", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL, 0755, false, true},
};

static int mount_one(const struct mount_row *row)
{
	if (mkdir(row->target, row->mode) == 0)
		chmod(row->target, row->mode); /* mkdir() has cleared the bits of the umask */
	return mount(row->type, row->target, row->type, row->flags, row->options);
}

int mounts_console(struct error *err)
{
	autoclose int fd = open("/dev/console", O_RDWR | O_NOCTTY);

	if (fd < 0) /* the machine has no console, so messages are dropped */
		fd = open("/dev/null", O_RDWR);
	if (fd < 0)
		return error_errno(err, errno, "/dev/console");
	for (int i = 0; i < 3; i++)
		if (fd != i && dup2(fd, i) < 0)
			return error_errno(err, errno, "/dev/console");
	if (fd <= 2)
		steal_fd(&fd);
	return 0;
}

int mounts_early(struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(mount_table); i++)
		if (mount_table[i].early && mount_one(&mount_table[i]) < 0 && errno != EBUSY)
			return error_errno(err, errno, "cannot mount %s", mount_table[i].target);
	return mounts_console(err);
}

void mounts_early_end(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(mount_table); i++)
		if (mount_table[i].early)
			umount2(mount_table[i].target, MNT_DETACH);
}

void mounts_root(void)
{
	/* Symbolic links that programs expect in /dev, and that devtmpfs does not make. */
	static const char *const links[][2] = {
		{"/proc/self/fd", "/dev/fd"},
		{"/proc/self/fd/0", "/dev/stdin"},
		{"/proc/self/fd/1", "/dev/stdout"},
		{"/proc/self/fd/2", "/dev/stderr"},
	};
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(mount_table); i++) {
		const struct mount_row *row = &mount_table[i];

		if (mount_one(row) < 0 && !row->quiet)
			console_line("cannot mount %s on %s: %s", row->type, row->target,
				     strerror(errno));
	}
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (symlink(links[i][0], links[i][1]) < 0 && errno != EEXIST)
			console_line("cannot make %s: %s", links[i][1], strerror(errno));
	/* /tmp is a directory of the root file system, and is created if the image has none. */
	if (stat("/tmp", &st) < 0 && mkdir("/tmp", 01777) == 0)
		chmod("/tmp", 01777);
}

/* Decodes a path of /proc/self/mountinfo. In this file a space, tab, newline or backslash of a path
 * is written as a backslash and three octal digits. */
static void unescape_path(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (from[0] == '\\' && from[1] && from[2] && from[3]) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

char *mounts_block_path(char *line)
{
	/* The first fields of a line are: id, parent, major:minor, root, mount point, ... */
	char *rest = NULL, *fields[5];

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = strtok_r(i ? NULL : line, " \n", &rest);
		if (!fields[i])
			return NULL;
	}
	if (strncmp(fields[2], "0:", 2) == 0)
		return NULL; /* no block device: the file system is in memory or is a share */
	unescape_path(fields[4]);
	return fields[4];
}

static void end_one(const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && syncfs(fd) < 0)
		console_line("cannot write %s back: %s", path, strerror(errno));
	/* The remount fails if a process that cannot be killed has a file open for writing. In that
	 * case the data was at least written by syncfs(). */
	mount(NULL, path, NULL, MS_REMOUNT | MS_RDONLY, NULL);
}

/* Lists the mount points of all file systems on block devices, in the order in which they were
 * mounted. */
static size_t list_paths(FILE *file, char ***out)
{
	autofree char *line = NULL;
	size_t count = 0, room = 0, size = 0;
	char **paths = NULL;

	while (getline(&line, &size, file) > 0) {
		const char *path = mounts_block_path(line);

		if (path && count == room) {
			size_t more = room ? room * 2 : 32;
			char **grown = reallocarray(paths, more, sizeof(*paths));

			if (!grown)
				break;
			paths = grown;
			room = more;
		}
		if (path && (paths[count] = strdup(path)))
			count++;
	}
	*out = paths;
	return count;
}

static void free_paths(char **paths, size_t count)
{
	while (count > 0)
		free(paths[--count]);
	free(paths);
}

void mounts_end(void)
{
	autofile FILE *file = fopen("/proc/self/mountinfo", "re");
	char **paths = NULL;
	size_t all = file ? list_paths(file, &paths) : 0, count = all;

	if (count == 0)
		end_one("/"); /* a program of the guest has unmounted /proc, so only "/" is known */
	while (count > 0)
		end_one(paths[--count]);
	free_paths(paths, all);
}

int mounts_write_back(struct error *err)
{
	autofile FILE *file = fopen("/proc/self/mountinfo", "re");
	char **paths = NULL;
	size_t count;
	int got = 0;

	if (!file)
		return error_errno(err, errno, "/proc/self/mountinfo");
	count = list_paths(file, &paths);
	for (size_t i = count; i > 0 && got == 0; i--) {
		const char *path = paths[i - 1];
		autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

		/* A file system that another mount hides cannot be opened by its path, and is not
		 * written back here. Usually no process writes to such a file system. */
		if (fd >= 0 && syncfs(fd) < 0)
			got = error_errno(err, errno, "cannot write %s back", path);
	}
	free_paths(paths, count);
	return got;
}
