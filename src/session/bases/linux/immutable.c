/* SPDX-License-Identifier: MIT */
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "session/bases/base_making.h"

void file_set_immutable(int fd, bool on)
{
	int flags = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return;
	flags = on ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
	(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
}
