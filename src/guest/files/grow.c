/* SPDX-License-Identifier: MIT */
#include "guest/files/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The ioctl that sets the number of blocks of an ext4 file system. <linux/ext4.h> defines the
 * ioctl, but Debian does not have this header yet. */
#define EXT4_IOC_RESIZE_FS _IOW('f', 16, uint64_t)
#define SECTOR 512

/* Finds the size of a device in bytes. Reads the size from sysfs, since the device may have no node
 * in /dev. */
static int device_bytes(dev_t device, uint64_t *bytes, struct error *err)
{
	char path[64], text[32] = "", *end;
	unsigned long long sectors;
	autofile FILE *file = NULL;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/size", major(device), minor(device));
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file) ||
	    (sectors = strtoull(text, &end, 10)) == 0 || *end != '\n')
		return error_set(
			err, ERR_UNSUPPORTED,
			"the guest's file system was not made larger, because the guest's kernel does not show the size of its disk: choose another kernel");
	*bytes = sectors * SECTOR;
	return 0;
}

int grow_to_device(char **words, struct error *err)
{
	autoclose int fd = open(words[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	struct stat st;
	uint64_t bytes = 0, blocks;

	if (fd < 0 || fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return error_errno(err, errno, "%s", words[0]);
	if (device_bytes(st.st_dev, &bytes, err) < 0)
		return -1;
	blocks = bytes / (uint64_t)fs.f_bsize;
	if (ioctl(fd, EXT4_IOC_RESIZE_FS, &blocks) < 0)
		return error_errno(err, errno, "the file system cannot be grown to %llu MiB",
				   (unsigned long long)(bytes >> 20));
	return 0;
}
