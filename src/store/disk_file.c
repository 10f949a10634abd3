/* SPDX-License-Identifier: MIT */
#include "store/disk_file.h"

#include <fcntl.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "store/own_dirs.h"
#include "store/own_links.h"
#include "store/spot.h"

static int refuse_in_ours(int dirfd, const char *path, struct error *err)
{
	enum own_dir kind;
	autofree char *ours = own_dir_above(dirfd, &kind);

	if (!ours)
		return 0;
	return error_set(err, ERR_DENIED,
			 "%s is a link: a disk in a directory of microagent must be a file itself",
			 path);
}

int disk_file_open(const char *path, int flags, bool direct, struct error *err)
{
	return direct ? own_links_file_direct(path, flags, err)
		      : own_links_file(path, flags, refuse_in_ours, err);
}

char *disk_file_end(const char *path, struct error *err)
{
	autoclose int fd = disk_file_open(path, O_RDONLY, false, err);

	return fd < 0 ? NULL : spot_path_of(fd, err);
}
