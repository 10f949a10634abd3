/* SPDX-License-Identifier: MIT */
#include "base/platform/sync.h"

#include <unistd.h>

int file_sync(int fd)
{
	return fsync(fd);
}

int file_sync_data(int fd)
{
	return fdatasync(fd);
}
