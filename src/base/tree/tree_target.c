/* SPDX-License-Identifier: MIT */
/* Finds the directory and the name for a file or tree that will be received. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/file.h"
#include "base/tree/tree_stream.h"

static int open_target_dir(int root_fd, const char *path, bool confined)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

	return confined ? file_open_within(root_fd, path, flags, FILE_IN_ROOT)
			: openat(root_fd, path, flags);
}

static int set_target_name(struct tree_target *target, const char *name, struct error *err)
{
	struct stat st;

	if (!*name || strlen(name) > 255 || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return error_set(
			err, ERR_INVALID,
			"a copy cannot have the name \"%.255s\": end the path of the target with another name",
			name);
	snprintf(target->name, sizeof(target->name), "%s", name);
	if (fstatat(target->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", name);
	if (S_ISLNK(st.st_mode))
		return error_set(err, ERR_CONFLICT,
				 "%s is a symbolic link; nothing is written through it", name);
	if (S_ISREG(st.st_mode))
		return 0;
	return error_set(err, ERR_CONFLICT, "%s already exists and is not a regular file", name);
}

/* Opens the directory that contains the last component of `path`: "." if `path` has no slash. Sets
 * *last to the last component. Returns the descriptor, or -1 with an error. */
static int open_parent_of(int root_fd, const char *path, bool confined, const char **last,
			  struct error *err)
{
	const char *slash = strrchr(path, '/');
	autofree char *parent = NULL;
	int fd;

	*last = slash ? slash + 1 : path;
	parent = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	if (!parent)
		return error_errno(err, ENOMEM, "files");
	fd = open_target_dir(root_fd, parent, confined);
	return fd < 0 ? error_errno(err, errno, "%.300s", parent) : fd;
}

int tree_target_open(int root_fd, const char *path, bool confined, const char *name_within,
		     struct tree_target *out, struct error *err)
{
	autoclose int dir = open_target_dir(root_fd, path, confined);
	const char *name = name_within;
	struct tree_target target;
	struct stat st;

	if (dir < 0)
		dir = open_parent_of(root_fd, path, confined, &name, err);
	if (dir < 0)
		return -1;
	/* A directory that was removed has the link count 0, and no file can be made in it. */
	if (fstat(dir, &st) < 0)
		return error_errno(err, errno, "%.300s", path);
	if (!st.st_nlink)
		return error_set(
			err, ERR_NOT_FOUND,
			"the directory %.300s was removed while files were copied into it: make it again, and copy again",
			path);
	target = (struct tree_target){.dir = dir, .in_path = name == name_within};
	if (set_target_name(&target, name, err) < 0)
		return -1;
	*out = target;
	(void)steal_fd(&dir);
	return 0;
}

void tree_target_close(struct tree_target *target)
{
	if (target->dir >= 0)
		close(target->dir);
	target->dir = -1;
	free(steal_ptr(&target->host_path));
}
