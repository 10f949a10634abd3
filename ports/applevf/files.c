/* SPDX-License-Identifier: MIT */
#include "applevf/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "base/utf8.h"

static bool has_a_name(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

char *file_name(int fd, struct error *err)
{
	char name[PATH_MAX];
	struct stat own, there;

	if (file_path(fd, name, sizeof(name)) < 0 || fstat(fd, &own) < 0 ||
	    stat(name, &there) < 0) {
		error_errno(err, errno, "the name of an open file");
		return NULL;
	}
	if (own.st_dev != there.st_dev || own.st_ino != there.st_ino) {
		error_set(err, ERR_CONFLICT,
			  "%.300s was replaced by another file while it was looked at: try again",
			  name);
		return NULL;
	}
	/* Refuses a path that is not UTF-8. The framework could not make a string of such a path,
	 * and would use the current directory. */
	if (!utf8_is_whole(name, strlen(name))) {
		error_set(
			err, ERR_INVALID,
			"Virtualization.framework accepts only names in UTF-8, and the name of this file is not: rename the file");
		return NULL;
	}
	char *copy = strdup(name);
	if (!copy)
		error_errno(err, ENOMEM, "name");
	return copy;
}

char *file_copy(int fd, int workspace_fd, const char *name, struct error *err)
{
	autoclose int dir = path_open_dir_at(workspace_fd, VM_RUN_DIR, true, 0700, err);
	struct stat st;

	if (dir < 0)
		return NULL;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		(void)unlinkat(dir, name, 0);
	if (path_clone_with_room_at(fd, dir, name, 0600, limit_get(LIMIT_STATE_FREE_BYTES), err) <
	    0) {
		error_prefix(err, "the file cannot be copied as %s", name);
		return NULL;
	}
	autoclose int copy = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (copy < 0) {
		error_errno(err, errno, "%s", name);
		return NULL;
	}
	return file_name(copy, err);
}

char *file_name_or_copy(int fd, int workspace_fd, const char *name, struct error *err)
{
	return has_a_name(fd) ? file_name(fd, err) : file_copy(fd, workspace_fd, name, err);
}
