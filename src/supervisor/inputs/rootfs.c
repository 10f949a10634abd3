/* SPDX-License-Identifier: MIT */
/*
 * Checks images of root file systems. A guest may have written an image, so the host does not parse
 * its file system, but reads only a few numbers of the superblock. These numbers are enough to find
 * a truncated download before the boot, where otherwise the guest's kernel would report it.
 */
#include "supervisor/inputs/rootfs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Offsets in bytes of little-endian numbers in the file. */
enum {
	BLOCKS_LOW = 1024 + 0x04,
	LOG_BLOCK_SIZE = 1024 + 0x18,
	MAGIC = 1024 + 0x38,
	INCOMPATIBLE = 1024 + 0x60,
	BLOCKS_HIGH = 1024 + 0x150,
};
#define EXT4_MAGIC 0xEF53u
#define FEATURE_64BIT 0x80u

static uint32_t superblock_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int rootfs_size(const uint8_t header[ROOTFS_HEADER], uint64_t *size, struct error *err)
{
	uint32_t shift = superblock_u32(header + LOG_BLOCK_SIZE);
	uint64_t blocks = superblock_u32(header + BLOCKS_LOW);

	if ((superblock_u32(header + MAGIC) & 0xFFFF) != EXT4_MAGIC || shift > 6)
		return error_set(
			err, ERR_INVALID,
			"the file is not an ext4 file system image: make one with mke2fs -t ext4, or import an image");
	if (superblock_u32(header + INCOMPATIBLE) & FEATURE_64BIT)
		blocks |= (uint64_t)superblock_u32(header + BLOCKS_HIGH) << 32;
	if (blocks == 0 || blocks > UINT64_MAX >> (10 + shift))
		return error_set(
			err, ERR_INVALID,
			"the file is not an ext4 file system image: make one with mke2fs -t ext4, or import an image");
	*size = blocks << (10 + shift);
	return 0;
}

bool rootfs_has_ext4_magic(int fd)
{
	uint8_t bytes[2];

	return pread(fd, bytes, sizeof(bytes), MAGIC) == sizeof(bytes) &&
	       (bytes[0] | (unsigned)bytes[1] << 8) == EXT4_MAGIC;
}

int rootfs_refuse_qcow2(int fd, struct error *err)
{
	char magic[4];

	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, "QFI\xfb", sizeof(magic)) != 0)
		return 0;
	return error_set(
		err, ERR_INVALID,
		"the file is a qcow2 image, and only raw images are accepted: qemu-img convert -O raw makes one");
}

int rootfs_check(int fd, struct error *err)
{
	uint8_t header[ROOTFS_HEADER];
	uint64_t size = 0;
	struct stat st;
	ssize_t n = pread(fd, header, sizeof(header), 0);

	if (n < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "cannot be read");
	if (n < (ssize_t)sizeof(header))
		return error_set(
			err, ERR_INVALID,
			"the file is not an ext4 file system image: make one with mke2fs -t ext4, or import an image");
	if (rootfs_refuse_qcow2(fd, err) < 0 || rootfs_size(header, &size, err) < 0)
		return -1;
	if ((uint64_t)st.st_size < size)
		return error_set(
			err, ERR_INVALID,
			"the file is truncated, because it has %llu bytes, and its file system has %llu: fetch or build it again",
			(unsigned long long)st.st_size, (unsigned long long)size);
	return 0;
}
