/* SPDX-License-Identifier: MIT */
#include "guest/machine/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LINKS_MAX 40 /* as Linux has it */

/* Whether nobody but root makes names in the directory. */
static int is_roots_alone(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int open_or_make(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
		return -1;
	return openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* Takes the first component off path, in place. "" at the end. */
static const char *next_component(char **path)
{
	char *name = *path + strspn(*path, "/");
	char *end = name + strcspn(name, "/");

	*path = *end ? end + 1 : end;
	*end = '\0';
	return name;
}

/* Puts what the link in dir leads to in front of what is left of the path. */
static int read_link(int dir, int link, char left[PATH_MAX], struct error *err)
{
	char target[PATH_MAX], whole[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstat(link, &st) < 0)
		return error_errno(err, errno, "a link");
	if (st.st_uid != 0 || !is_roots_alone(dir))
		return error_set(err, ERR_DENIED,
				 "a link on the way is not root's alone: nothing is mounted where "
				 "another user leads it");
	n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n < 0)
		return error_errno(err, errno, "a link");
	target[n] = '\0';
	if ((size_t)snprintf(whole, sizeof(whole), "%s/%s", target, left) >= sizeof(whole))
		return error_errno(err, ENAMETOOLONG, "a link");
	memcpy(left, whole, strlen(whole) + 1);
	return 0;
}

static int walk(char left[PATH_MAX], struct error *err)
{
	autoclose int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int links = 0;

	while (dir >= 0) {
		char *rest = left;
		const char *name = next_component(&rest);
		struct stat st;

		if (!*name)
			return steal_fd(&dir);
		autoclose int next = open_or_make(dir, name);
		if (next < 0 || fstat(next, &st) < 0)
			break;
		memmove(left, rest, strlen(rest) + 1);
		if (S_ISLNK(st.st_mode)) {
			if (++links > LINKS_MAX)
				return error_errno(err, ELOOP, "the directory");
			if (read_link(dir, next, left, err) < 0)
				return -1;
			if (left[0] != '/')
				continue;
			close(dir);
			dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		} else if (S_ISDIR(st.st_mode)) {
			close(dir);
			dir = steal_fd(&next);
		} else {
			return error_errno(err, ENOTDIR, "the directory");
		}
	}
	return error_errno(err, errno, "the directory");
}

int mountpoint_open(const char *path, struct error *err)
{
	char left[PATH_MAX];
	int fd;

	if ((size_t)snprintf(left, sizeof(left), "%s", path) >= sizeof(left))
		return error_errno(err, ENAMETOOLONG, "%.300s", path);
	fd = walk(left, err);
	if (fd < 0)
		error_prefix(err, "%.300s", path);
	return fd;
}

void mountpoint_name(int fd, char out[MOUNTPOINT_NAME])
{
	snprintf(out, MOUNTPOINT_NAME, "/proc/self/fd/%d", fd);
}
