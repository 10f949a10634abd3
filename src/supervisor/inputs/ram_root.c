/* SPDX-License-Identifier: MIT */
#include "supervisor/inputs/ram_root.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/platform/descriptor.h"

#define MIB (INT64_C(1) << 20)
/* The second cpio archive begins at a multiple of this number of bytes. Kernels look for an archive
 * at multiples of 4, and cpio archives end at multiples of 512. */
#define SEGMENT 512

/* Returns whether the file begins like a cpio archive, or like a compressed file that kernels can
 * unpack. */
static bool is_initramfs(const uint8_t head[6])
{
	static const struct {
		const char *bytes;
		size_t len;
	} magics[] = {
		{"070701", 6},
		{"070702", 6},
		{"\x1f\x8b", 2},
		{"\xfd"
		 "7zXZ",
		 5},
		{"BZh", 3},
		{"\x28\xb5\x2f\xfd", 4},
		{"\x02\x21\x4c\x18", 4},
		{"\x89LZO", 4},
		{"\x5d\0\0", 3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if (memcmp(head, magics[i].bytes, magics[i].len) == 0)
			return true;
	return false;
}

int ram_root_check(int fd, int64_t memory_mib, struct error *err)
{
	int64_t least = (int64_t)limit_get(LIMIT_WORKSPACE_MEMORY_MIN_MIB);
	uint8_t head[6] = {0};
	struct stat st;

	if (pread(fd, head, sizeof(head), 0) < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "cannot be read");
	if (!is_initramfs(head))
		return error_set(
			err, ERR_INVALID,
			"the file is not an initramfs (a cpio archive in the \"newc\" form, perhaps compressed): name another file");
	least += 2 * ((st.st_size + MIB - 1) / MIB);
	if (memory_mib < least)
		return error_set(
			err, ERR_INVALID,
			"this root file system of %lld MiB is unpacked in the guest's memory, and config.memoryMiB must be at least %lld for it: give more memory",
			(long long)((st.st_size + MIB - 1) / MIB), (long long)least);
	return 0;
}

static int append_initramfs(int to, int from, struct error *err)
{
	struct stat st;
	off_t at = 0;

	if (fstat(from, &st) < 0)
		return error_errno(err, errno, "initial RAM disk");
	while (at < st.st_size) {
		ssize_t n = descriptor_send_file(to, from, &at, (size_t)(st.st_size - at));

		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "initial RAM disk");
		if (n == 0)
			return error_set(
				err, ERR_IO,
				"the initrd became shorter while it was read: another program changes it; try again when that has ended");
	}
	return 0;
}

int ram_root_join(int root_fd, int initrd_fd, struct error *err)
{
	autoclose int joined = descriptor_memory("initrd");
	off_t end;

	if (joined < 0)
		return error_errno(err, errno, "initial RAM disk");
	if (append_initramfs(joined, root_fd, err) < 0)
		return -1;
	end = lseek(joined, 0, SEEK_CUR);
	end = (end + SEGMENT - 1) / SEGMENT * SEGMENT;
	if (ftruncate(joined, end) < 0 || lseek(joined, end, SEEK_SET) < 0)
		return error_errno(err, errno, "initial RAM disk");
	if (append_initramfs(joined, initrd_fd, err) < 0)
		return -1;
	return steal_fd(&joined);
}
