/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"

/* Offsets of fields in the superblock. The superblock begins at byte 1024 of the disk. All numbers
 * are little-endian. */
enum superblock_offset {
	SB_BLOCKS_LOW = 0x04,
	SB_LOG_BLOCK_SIZE = 0x18,
	SB_MAGIC = 0x38,
	SB_INCOMPAT = 0x60,
	SB_BLOCKS_HIGH = 0x150,
	SB_SIZE = 1024
};
#define SB_START 1024
#define EXT_MAGIC 0xef53u
#define INCOMPAT_64BIT 0x80u
/* The greatest s_log_block_size in a superblock, which means blocks of 64 KiB. */
#define LOG_BLOCK_SIZE_MAX 6

static uint32_t superblock_le32(const uint8_t *sb, enum superblock_offset at)
{
	const uint8_t *p = sb + at;

	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Returns the size in bytes that the file system has according to its superblock. Returns 0 if `sb`
 * is not a superblock, and UINT64_MAX if the size is too large for 64 bits. */
static uint64_t claimed_size(const uint8_t sb[SB_SIZE])
{
	uint64_t blocks = superblock_le32(sb, SB_BLOCKS_LOW);
	uint32_t log_size = superblock_le32(sb, SB_LOG_BLOCK_SIZE);

	if ((superblock_le32(sb, SB_MAGIC) & 0xffff) != EXT_MAGIC || log_size > LOG_BLOCK_SIZE_MAX)
		return 0;
	if (superblock_le32(sb, SB_INCOMPAT) & INCOMPAT_64BIT)
		blocks |= (uint64_t)superblock_le32(sb, SB_BLOCKS_HIGH) << 32;
	if (blocks > UINT64_MAX >> (10 + log_size))
		return UINT64_MAX;
	return blocks << (10 + log_size);
}

int ext4_check(int fd, const char *path, struct error *err)
{
	uint8_t sb[SB_SIZE];
	struct stat st;
	uint64_t claimed;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID,
				 "%s is not a regular file: a disk is a file that has an ext4 file system, so name such a file", path);
	n = pread(fd, sb, sizeof(sb), SB_START);
	if (n < 0)
		return error_errno(err, errno, "%s", path);
	claimed = n == (ssize_t)sizeof(sb) ? claimed_size(sb) : 0;
	if (claimed == 0) {
		error_set(
			err, ERR_INVALID,
			"%s is not a raw ext4 file system: give a disk that mke2fs -t ext4 or microagent has made",
			path);
		return error_reason(err, REASON_NOT_AN_IMAGE, path);
	}
	if (claimed > (uint64_t)st.st_size)
		return error_set(
			err, ERR_INVALID,
			"%s is cut short: its file system has %llu bytes, but the file has only %llu; get or build the image again",
			path, (unsigned long long)claimed, (unsigned long long)st.st_size);
	return 0;
}
