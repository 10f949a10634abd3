/* SPDX-License-Identifier: MIT */
#include "store/quota.h"

#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"

#define SESSION_RECORD "session.json"
#define QUOTA "quotaBytes"
#define COPIED "copiedBytes"

int quota_read(const struct workspace *ws, struct quota *out, struct error *err)
{
	struct error why = {0};
	json_auto_t *record = workspace_read(ws, SESSION_RECORD, &why);
	int64_t bytes = 0, copied = 0;

	if (!record && why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	if (record &&
	    (json_get_int(record, "", QUOTA, JSON_OPTIONAL, 1, INT64_MAX, &bytes, &why) < 0 ||
	     json_get_int(record, "", COPIED, JSON_OPTIONAL, 0, INT64_MAX, &copied, &why) < 0))
		return workspace_damaged(ws, SESSION_RECORD, &why, err);
	*out = (struct quota){(uint64_t)bytes, (uint64_t)copied};
	return 0;
}

uint64_t quota_beyond(uint64_t copied, uint64_t counted)
{
	return counted > copied ? counted - copied : 0;
}

int quota_write(const struct workspace *ws, uint64_t bytes, struct error *err)
{
	json_auto_t *record = workspace_read(ws, SESSION_RECORD, err);

	if (!record || json_put(record, QUOTA, json_integer((json_int_t)bytes), err) < 0)
		return -1;
	return workspace_write(ws, SESSION_RECORD, record, STORE_SYNC, err);
}

/* --- what it has ----------------------------------------------------------------------------- */

#define EXTENTS 256

/* The next extents from *at on, of which *at is then the end. 1: there may be more. */
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

static int count_shared(int fd, struct quota_count *count, uint64_t calls, struct error *err)
{
	autofree struct fiemap *map = malloc(sizeof(*map) + EXTENTS * sizeof(struct fiemap_extent));
	int more = 1;

	if (!map)
		return error_errno(err, ENOMEM, "extents");
	for (uint64_t i = 0; i < calls && more > 0; i++)
		more = add_shared_quota(fd, map, &count->at, &count->shared, err);
	return more;
}

/*
 * Blocks that were written and are not on the disk yet count as allocated, and the extent that they
 * will replace still counts as shared: nothing waits for the disk here, and nothing is missed.
 */
int quota_count(int fd, struct quota_count *count, uint64_t calls, uint64_t *bytes,
		struct error *err)
{
	uint64_t shared, allocated;
	struct error why = {0};
	struct stat st;
	int more;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "disk");
	allocated = (uint64_t)st.st_blocks * 512;
	more = count_shared(fd, count, calls, &why);
	if (more > 0)
		return 0;
	shared = count->shared;
	*count = (struct quota_count){0};
	/* A file system that cannot tell its extents shares none. */
	if (more < 0 && why.errnum != EOPNOTSUPP && why.errnum != ENOTTY)
		return error_copy(err, &why);
	*bytes = allocated > shared ? allocated - shared : 0;
	return 1;
}

int quota_grown(int fd, uint64_t *bytes, struct error *err)
{
	struct quota_count count = {0};

	return quota_count(fd, &count, UINT64_MAX, bytes, err) < 0 ? -1 : 0;
}
