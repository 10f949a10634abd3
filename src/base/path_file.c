/* SPDX-License-Identifier: MIT */
/* Reading a file whole and replacing it whole. */
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
		return error_set(err, ERR_INVALID, "%s is not a regular file", path);
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
	/* O_NONBLOCK: a FIFO put in the file's place must not hold us up. */
	autoclose int fd =
		openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return error_set(err, ERR_INVALID, "%s is a symbolic link", name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is not a regular file", name);
	if (fd_read_to_end(fd, out, err) < 0)
		return error_prefix(err, "%s", name);
	return 0;
}

struct replacement {
	int dir;	  /* the directory of the file: O_RDONLY, so that it can be synced */
	const char *name; /* in it */
	char temp[32];
};

/* name may have a directory part: the temporary file belongs beside the target. */
static int open_file_parent(int dirfd, const char *name, struct replacement *r, struct error *err)
{
	const char *slash = strrchr(name, '/');
	char parent[PATH_MAX] = ".";
	int n = slash ? snprintf(parent, sizeof(parent), "%.*s", (int)(slash - name + 1), name) : 0;

	if (n < 0 || (size_t)n >= sizeof(parent))
		return error_errno(err, ENAMETOOLONG, "%s", name);
	r->name = slash ? slash + 1 : name;
	r->dir = openat(dirfd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir < 0)
		return error_errno(err, errno, "directory of %s", name);
	return 0;
}

static int create_temp(struct replacement *r, struct error *err)
{
	uint64_t random;
	int fd;

	do {
		if (random_bytes(&random, sizeof(random), err) < 0)
			return -1;
		snprintf(r->temp, sizeof(r->temp), ".tmp-%016llx", (unsigned long long)random);
		fd = openat(r->dir, r->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			    S_IRUSR | S_IWUSR);
	} while (fd < 0 && errno == EEXIST);
	if (fd < 0)
		return error_errno(err, errno, "temporary file");
	return fd;
}

/* fchmod() comes last and needs no rights on the data, so mode may even be 0400. */
static int fill_temp(int fd, const void *data, size_t len, mode_t mode, enum path_sync sync,
		     struct error *err)
{
	if (fd_write_all(fd, data, len, err) < 0)
		return -1;
	if (fchmod(fd, mode) < 0)
		return error_errno(err, errno, "mode");
	if (sync == PATH_SYNC && file_sync(fd) < 0)
		return error_errno(err, errno, "sync");
	return 0;
}

static int move_into_place(struct replacement *r, int *fd, struct error *err)
{
	/* Network file systems report a full disk no earlier than here. */
	if (close(steal_fd(fd)) < 0)
		return error_errno(err, errno, "close");
	if (renameat(r->dir, r->temp, r->dir, r->name) < 0)
		return error_errno(err, errno, "rename");
	return 0;
}

int path_replace_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
			 enum path_sync sync, struct error *err)
{
	struct replacement r = {.dir = -1};

	if (open_file_parent(dirfd, name, &r, err) < 0)
		return -1;
	autoclose int dir = r.dir;
	autoclose int fd = create_temp(&r, err);
	if (fd < 0)
		return error_prefix(err, "write %s", name);
	if (fill_temp(fd, data, len, mode, sync, err) < 0 || move_into_place(&r, &fd, err) < 0) {
		unlinkat(dir, r.temp, 0);
		return error_prefix(err, "write %s", name);
	}
	if (sync == PATH_SYNC && file_sync(dir) < 0)
		return error_errno(err, errno, "sync directory of %s", name);
	return 0;
}
