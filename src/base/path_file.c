/* SPDX-License-Identifier: MIT */
/* Reads a whole file and replaces a whole file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/platform/sync.h"
#include "base/platform/system.h"

int path_open_file(const char *path, struct error *err)
{
	autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID,
				 "%s is not a regular file: put a regular file there", path);
	return steal_fd(&fd);
}

int path_read_file(const char *path, struct buf *out, struct error *err)
{
	autoclose int fd = path_open_file(path, err);

	if (fd < 0)
		return -1;
	return fd_read_to_end(fd, out, err) < 0 ? error_prefix(err, "%s", path) : 0;
}

int path_read_file_at(int dirfd, const char *name, struct buf *out, struct error *err)
{
	/* With O_NONBLOCK, a FIFO at this path cannot block the caller. */
	autoclose int fd =
		openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return error_set(
			err, ERR_INVALID,
			"%s is a symbolic link, and links are not followed here: put the file itself there",
			name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID,
				 "%s is not a regular file: put a regular file there", name);
	if (fd_read_to_end(fd, out, err) < 0)
		return error_prefix(err, "%s", name);
	return 0;
}

int path_replace_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
			 enum path_sync sync, struct error *err)
{
	const char *slash = strrchr(name, '/');
	char parent[PATH_MAX] = ".", temp[32];
	int n = slash ? snprintf(parent, sizeof(parent), "%.*s", (int)(slash - name + 1), name) : 0;
	autoclose int dir = -1, fd = -1;
	uint64_t random;

	if (n < 0 || (size_t)n >= sizeof(parent))
		return error_errno(err, ENAMETOOLONG, "%s", name);
	/* The temporary file must be in the directory of the target, so that a rename can replace
	 * the target. The directory is opened with O_RDONLY, so that it can be synced. */
	dir = openat(dirfd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return error_errno(err, errno, "directory of %s", name);
	do {
		if (random_bytes(&random, sizeof(random), err) < 0)
			return error_prefix(err, "write %s", name);
		snprintf(temp, sizeof(temp), ".tmp-%016llx", (unsigned long long)random);
		fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	} while (fd < 0 && errno == EEXIST);
	if (fd < 0) {
		error_errno(err, errno, "temporary file");
		return error_prefix(err, "write %s", name);
	}
	if (fd_write_all(fd, data, len, err) < 0)
		goto failed;
	/* fchmod() is called after the data were written, since `mode` may forbid writing
	 * (0400). */
	if (fchmod(fd, mode) < 0) {
		error_errno(err, errno, "mode");
		goto failed;
	}
	if (sync == PATH_SYNC && file_sync(fd) < 0) {
		error_errno(err, errno, "sync");
		goto failed;
	}
	/* On a network file system only close() may report a full disk. */
	if (close(steal_fd(&fd)) < 0) {
		error_errno(err, errno, "close");
		goto failed;
	}
	if (renameat(dir, temp, dir, slash ? slash + 1 : name) < 0) {
		error_errno(err, errno, "rename");
		goto failed;
	}
	if (sync == PATH_SYNC && file_sync(dir) < 0)
		return error_errno(err, errno, "sync directory of %s", name);
	return 0;
failed:
	unlinkat(dir, temp, 0);
	return error_prefix(err, "write %s", name);
}
