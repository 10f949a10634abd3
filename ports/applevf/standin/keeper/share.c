/* SPDX-License-Identifier: MIT */
/*
 * Serves the directories of one share, in a separate mount namespace. virtiofsd serves a file
 * system in memory that has a bind mount for each directory. If the share is one directory, this
 * directory is bind mounted on the root of the file system. This process stays in the mount
 * namespace, so that directories can be added and removed while virtiofsd runs.
 *
 * A message to this process has one character, then a name, NUL, a path, NUL. The answer is "ok" or
 * the text of an error. The characters:
 *   R, W   makes the directory at the path the whole share, read-only (R) or writable (W)
 *   r, w   adds the directory at the path under the name, read-only (r) or writable (w)
 *   -      removes the directory with the name
 *   g      starts virtiofsd
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keeper.h"

/* The directory on which the share's file system is mounted. Every Linux has this directory, and
 * virtiofsd needs no file of it. */
#define STAGE "/sys"

static int write_id_map(const char *file, unsigned id)
{
	char line[32];
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	int length = snprintf(line, sizeof(line), "0 %u 1", id);

	if (fd < 0)
		return -1;
	ssize_t n = write(fd, line, (size_t)length);
	close(fd);
	return n == length ? 0 : -1;
}

/* Creates a user namespace and a mount namespace, for a user other than root. In the user namespace
 * this user is root, and may mount in the mount namespace. */
static int unshare_as_user(void)
{
	unsigned uid = geteuid(), gid = getegid();
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -1;
	fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "deny", 4) != 4)
		return -1;
	close(fd);
	return write_id_map("/proc/self/uid_map", uid) < 0 ||
			       write_id_map("/proc/self/gid_map", gid) < 0
		       ? -1
		       : 0;
}

static int open_stage(void)
{
	if (geteuid() == 0 ? unshare(CLONE_NEWNS) < 0 : unshare_as_user() < 0)
		return -1;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	if (mount("share", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") < 0)
		return -1;
	return chdir(STAGE); /* the directory in which each shared directory is mounted */
}

static int bind_directory(const char *path, const char *at, bool read_only)
{
	if (mount(path, at, NULL, MS_BIND | MS_REC, NULL) < 0)
		return -1;
	if (!read_only)
		return 0;
	return mount(NULL, at, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL);
}

static int add_named(const char *name, const char *path, bool read_only)
{
	if (mkdir(name, 0755) < 0)
		return -1;
	if (bind_directory(path, name, read_only) == 0)
		return 0;
	int error = errno;
	rmdir(name);
	errno = error;
	return -1;
}

static int remove_named(const char *name)
{
	return umount2(name, MNT_DETACH) < 0 || rmdir(name) < 0 ? -1 : 0;
}

static int start_virtiofsd(const struct share_ends *ends, const char *virtiofsd)
{
	pid_t pid = keeper_fork(&ends->listen, 1);
	char fd[32];

	if (pid)
		return pid < 0 ? -1 : 0;
	snprintf(fd, sizeof(fd), "--fd=%d", ends->listen);
	/* virtiofsd in C, a part of QEMU in Debian 12, has other options than virtiofsd in Rust. */
	if (strstr(virtiofsd, "/qemu/"))
		execl(virtiofsd, virtiofsd, "-f", fd, "-o", "source=" STAGE, "-o", "sandbox=chroot",
		      "-o", "log_level=err", (char *)NULL);
	else
		execl(virtiofsd, virtiofsd, fd, "--shared-dir=" STAGE, "--sandbox=chroot",
		      "--inode-file-handles=never", "--log-level=error", (char *)NULL);
	_exit(127);
}

static int obey(const struct share_ends *ends, const char *virtiofsd, const char *message)
{
	const char *name = message + 1, *path = name + strlen(name) + 1;

	switch (*message) {
	case 'R':
	case 'W':
		return bind_directory(path, STAGE, *message == 'R');
	case 'r':
	case 'w':
		return add_named(name, path, *message == 'r');
	case '-':
		return remove_named(name);
	case 'g':
		return start_virtiofsd(ends, virtiofsd);
	default:
		errno = EINVAL;
		return -1;
	}
}

void share_serve(const struct share_ends *ends, const char *virtiofsd)
{
	char message[8192];
	int staged = open_stage() < 0 ? errno : 0;

	for (;;) {
		/* Clears the buffer, so that a name or path that the message lacks is "". */
		memset(message, 0, sizeof(message));
		ssize_t n = recv(ends->control, message, sizeof(message) - 3, 0);

		if (n <= 0)
			break;
		errno = staged;
		bool done = !staged && obey(ends, virtiofsd, message) == 0;
		const char *answer = done ? "ok" : strerror(errno);

		if (send(ends->control, answer, strlen(answer), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0); /* virtiofsd is killed when this process exits */
}
