/* SPDX-License-Identifier: MIT */
#include "artifact/below.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/platform/file.h"

/* O_NONBLOCK prevents that open() waits: a FIFO may have replaced the file. */
#define FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

static int open_below(int root, const char *path, int flags, struct error *err)
{
	int fd = file_open_within(root, path, flags, FILE_BELOW);

	if (fd < 0 && (errno == ELOOP || errno == EXDEV))
		return error_set(
			err, ERR_INVALID,
			"%s is not read, because it is a link or leads out of its directory tree: put a regular file there",
			path);
	return fd < 0 ? error_errno(err, errno, "%s", path) : fd;
}

int below_open(int root, const char *path, struct error *err)
{
	autoclose int fd = open_below(root, path, FLAGS, err);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"%s is not a regular file, so it is not read: put a regular file there",
			path);
	return steal_fd(&fd);
}

int below_open_dir(int root, const char *path, struct error *err)
{
	return open_below(root, path, FLAGS | O_DIRECTORY, err);
}

int below_read(int root, const char *path, struct buf *out, struct error *err)
{
	autoclose int fd = below_open(root, path, err);

	if (fd < 0)
		return -1;
	return fd_read_to_end(fd, out, err) < 0 ? error_prefix(err, "%s", path) : 0;
}
