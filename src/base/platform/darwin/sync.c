/* SPDX-License-Identifier: MIT */
#include "base/platform/sync.h"

#include <fcntl.h>
#include <unistd.h>

/* fsync() hands all to the drive, which may lose what it has not written yet; F_FULLFSYNC has it
 * write that (fcntl(2) and fsync(2) of macOS). Not every file system knows it. */
int file_sync(int fd)
{
	return fcntl(fd, F_FULLFSYNC) == 0 ? 0 : fsync(fd);
}

int file_sync_data(int fd)
{
	return file_sync(fd);
}
