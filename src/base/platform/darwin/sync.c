/* SPDX-License-Identifier: MIT */
#include "base/platform/sync.h"

#include <fcntl.h>
#include <unistd.h>

/* Uses F_FULLFSYNC, which makes the drive write its cache to the medium. After fsync() alone a loss
 * of power may still lose data that is in the drive's cache (fcntl(2) and fsync(2) of macOS). If
 * the file system does not support F_FULLFSYNC, uses fsync(). */
int file_sync(int fd)
{
	return fcntl(fd, F_FULLFSYNC) == 0 ? 0 : fsync(fd);
}

int file_sync_data(int fd)
{
	return file_sync(fd);
}
