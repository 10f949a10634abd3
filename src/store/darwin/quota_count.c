/* SPDX-License-Identifier: MIT */
/* Counts the bytes that a file shares with no other file. APFS knows this number: it is
 * ATTR_CMNEXT_PRIVATESIZE of getattrlist(2), "number of bytes that are not trapped inside a clone
 * or snapshot". */
#include <errno.h>
#include <string.h>
#include <sys/attr.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/quota.h"

/* The buffer that getattrlist(2) fills: first the buffer's length, then the attribute, without a
 * gap between them. */
struct private_size {
	uint32_t length;
	off_t bytes;
} __attribute__((packed));

/* Reads the private size of a file in bytes. Returns 1 on success, 0 if the file system does not
 * know this size, or -1 with err set. */
static int read_private_size(int fd, uint64_t *bytes, struct error *err)
{
	struct attrlist wanted = {.bitmapcount = ATTR_BIT_MAP_COUNT,
				  .forkattr = ATTR_CMNEXT_PRIVATESIZE};
	struct private_size got = {0};

	if (fgetattrlist(fd, &wanted, &got, sizeof(got), FSOPT_ATTR_CMN_EXTENDED) < 0) {
		if (errno == ENOTSUP || errno == EINVAL)
			return 0;
		return error_errno(err, errno, "disk");
	}
	if (got.length < sizeof(got))
		return 0;
	*bytes = (uint64_t)got.bytes;
	return 1;
}

/* Counts the whole file in one call. If a file system does not know the private size, its files
 * share no blocks, so all allocated bytes count. */
int quota_count(int fd, struct quota_count *count, uint64_t calls, uint64_t *bytes,
		struct error *err)
{
	uint64_t own = 0;
	struct stat st;
	int told;

	(void)calls;
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "disk");
	told = read_private_size(fd, &own, err);
	if (told < 0)
		return -1;
	*count = (struct quota_count){0};
	*bytes = told ? own : (uint64_t)st.st_blocks * 512;
	return 1;
}
