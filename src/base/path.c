/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/process.h"

const char path_drive[] = "";

bool path_is_absolute(const char *path)
{
	return *path == '/';
}

char *path_absolute(const char *path, struct error *err)
{
	autofree char *here = NULL;
	autofree char *joined = NULL;

	if (!*path) {
		error_set(err, ERR_INVALID, "the path is empty: give one");
		return NULL;
	}
	if (*path != '/' && !(here = getcwd(NULL, 0))) {
		if (errno == ENOENT)
			error_set(
				err, ERR_NOT_FOUND,
				"the working directory of this process was removed: change to another directory");
		else
			error_errno(err, errno, "working directory");
		return NULL;
	}
	joined = path_join(here ? here : "/", path, err);
	return joined ? path_clean(joined, err) : NULL;
}

char *path_of_executable_dir(struct error *err)
{
	char exe[PATH_MAX];
	char *slash, *dir;

	if (process_own_program(exe) < 0) {
		error_errno(err, errno, "the program's own path");
		return NULL;
	}
	slash = strrchr(exe, '/');
	if (!slash) {
		error_set(
			err, ERR_IO,
			"the directory of this program is not known, because the kernel names the program without a path: %s",
			exe);
		return NULL;
	}
	slash[slash == exe] = '\0';
	dir = strdup(exe);
	if (!dir)
		error_errno(err, ENOMEM, "%s", exe);
	return dir;
}

/* Makes a directory; succeeds if it exists already. */
static int make_dir(const char *path, mode_t mode, struct error *err)
{
	struct stat st;

	/* For a path that exists, mkdir() may fail with EACCES, EROFS or another error instead of
	 * EEXIST. So after any failure stat() is called to find out if the directory exists. */
	if (mkdir(path, mode) == 0)
		return 0;
	int why = errno;
	if (stat(path, &st) < 0)
		return error_errno(err, why, "make directory %s", path);
	if (!S_ISDIR(st.st_mode))
		return error_errno(err, ENOTDIR, "make directory %s", path);
	return 0;
}

int path_make_dirs(const char *path, mode_t mode, struct error *err)
{
	autofree char *copy = strdup(path);
	char *p = copy;

	if (!copy)
		return error_errno(err, ENOMEM, "%s", path);
	for (;;) {
		p += strspn(p, "/");
		p += strcspn(p, "/");
		char next = *p;
		*p = '\0';
		if (make_dir(copy, mode, err) < 0)
			return -1;
		if (!next || !p[1])
			return 0;
		*p++ = next;
	}
}

int path_open_dir(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		if (path_make_dirs(path, S_IRWXU, err) < 0)
			return -1;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0)
		return error_errno(err, errno, "directory %s", path);
	return fd;
}

int path_open_dir_at(int dirfd, const char *name, bool create, mode_t mode, struct error *err)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dirfd, name, flags);

	if (fd < 0 && errno == ENOENT && create) {
		/* EEXIST: another process has made the directory meanwhile. */
		if (mkdirat(dirfd, name, mode) < 0 && errno != EEXIST)
			return error_errno(err, errno, "make directory %s", name);
		fd = openat(dirfd, name, flags);
	}
	if (fd < 0)
		return error_errno(err, errno, "directory %s", name);
	return fd;
}
