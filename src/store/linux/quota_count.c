/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "store/quota.h"

#define EXTENTS 256

/* Counts the shared bytes of the next extents of a file, beginning at the offset *at. Moves *at to
 * the end of these extents. Returns 1 if more extents may follow, 0 if not, or -1 with err set. */
static int add_shared_quota(int fd, struct fiemap *map, uint64_t *at, uint64_t *shared,
			    struct error *err)
{
	memset(map, 0, sizeof(*map));
	map->fm_start = *at;
	map->fm_length = FIEMAP_MAX_OFFSET - *at;
	map->fm_extent_count = EXTENTS;
	if (ioctl(fd, FS_IOC_FIEMAP, map) < 0)
		return error_errno(err, errno, "extents");
	for (uint32_t i = 0; i < map->fm_mapped_extents; i++) {
		const struct fiemap_extent *extent = &map->fm_extents[i];

		*at = extent->fe_logical + extent->fe_length;
		if (extent->fe_flags & FIEMAP_EXTENT_SHARED)
			*shared += extent->fe_length;
		if (extent->fe_flags & FIEMAP_EXTENT_LAST)
			return 0;
	}
	return map->fm_mapped_extents > 0;
}

/*
 * Does not wait until written blocks are on the disk. Such blocks count as allocated, although the
 * extent that they will replace still counts as shared. So all growth is counted at once.
 */
int quota_count(int fd, struct quota_count *count, uint64_t calls, uint64_t *bytes,
		struct error *err)
{
	autofree struct fiemap *map = malloc(sizeof(*map) + EXTENTS * sizeof(struct fiemap_extent));
	uint64_t shared, allocated;
	struct error why = {0};
	struct stat st;
	int more = 1;

	if (!map)
		return error_errno(err, ENOMEM, "extents");
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "disk");
	allocated = (uint64_t)st.st_blocks * 512;
	for (uint64_t i = 0; i < calls && more > 0; i++)
		more = add_shared_quota(fd, map, &count->at, &count->shared, &why);
	if (more > 0)
		return 0;
	shared = count->shared;
	*count = (struct quota_count){0};
	/* A file system that does not know its extents shares no blocks between files. */
	if (more < 0 && why.errnum != EOPNOTSUPP && why.errnum != ENOTTY)
		return error_copy(err, &why);
	*bytes = allocated > shared ? allocated - shared : 0;
	return 1;
}
