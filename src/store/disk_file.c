/* SPDX-License-Identifier: MIT */
#include "store/disk_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/file.h"
#include "store/own_dirs.h"

static int open_directory_of(const char *path, const char *slash)
{
	autofree char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	return directory ? file_open_place(AT_FDCWD, directory, 0) : -1;
}

int disk_file_open(const char *path, int flags, struct error *err)
{
	const char *slash = strrchr(path, '/');
	autoclose int directory = open_directory_of(path, slash);
	enum own_dir kind;

	if (directory < 0)
		return error_errno(err, errno, "%s", path);
	autofree char *ours = own_dir_above(directory, &kind);
	autoclose int fd =
		openat(directory, slash ? slash + 1 : path,
		       flags | (ours ? O_NOFOLLOW : 0) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno == ELOOP && ours)
		return error_set(err, ERR_DENIED,
				 "%s is a link: a disk in a directory of microagent's is none",
				 path);
	return fd < 0 ? error_errno(err, errno, "%s", path) : steal_fd(&fd);
}
