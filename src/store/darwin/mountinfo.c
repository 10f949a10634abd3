/* SPDX-License-Identifier: MIT */
/*
 * Lists the mounts on macOS, which mounts only whole file systems. So the path of a directory
 * within its file system is its path below the mount. The only exceptions are firmlinks: for
 * example, /Users shows the directory /Users of the volume that is mounted on /System/Volumes/Data.
 */
#include "store/mountinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "base/path.h"

static int fill_mount_row(const struct statfs *fs, struct mount_row *row, struct error *err)
{
	*row = (struct mount_row){.id = (unsigned)fs->f_fsid.val[0],
				  .device = (unsigned)fs->f_fsid.val[0],
				  .root = strdup("/"),
				  .point = strdup(fs->f_mntonname),
				  .type = strdup(fs->f_fstypename)};
	if (row->root && row->point && row->type)
		return 0;
	mountinfo_free_row(row);
	return error_errno(err, ENOMEM, "mounts");
}

/* Returns the current mounts. Mounts that are added during the call may be missing. The caller
 * frees the list. */
static struct statfs *list_mounts(int *count, struct error *err)
{
	int most = getfsstat(NULL, 0, MNT_NOWAIT);
	struct statfs *list = most < 0 ? NULL : calloc((size_t)most + 1, sizeof(*list));

	*count = list ? getfsstat(list, most * (int)sizeof(*list), MNT_NOWAIT) : -1;
	if (*count >= 0)
		return list;
	error_errno(err, most >= 0 && !list ? ENOMEM : errno, "mounts");
	free(list);
	return NULL;
}

int mountinfo_read(struct mountinfo *out, struct error *err)
{
	int count = 0;
	autofree struct statfs *list = list_mounts(&count, err);
	struct mountinfo mounts = {0};

	if (!list)
		return -1;
	mounts.rows = calloc((size_t)count + 1, sizeof(*mounts.rows));
	if (!mounts.rows)
		return error_errno(err, ENOMEM, "mounts");
	for (; mounts.count < (size_t)count; mounts.count++)
		if (fill_mount_row(&list[mounts.count], &mounts.rows[mounts.count], err) < 0) {
			mountinfo_free(&mounts);
			return -1;
		}
	*out = mounts;
	return 0;
}

const struct mount_row *mountinfo_of(const struct mountinfo *mounts, int fd, struct error *err)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0) {
		error_errno(err, errno, "the file system of a directory");
		return NULL;
	}
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->rows[i].id == (unsigned)fs.f_fsid.val[0])
			return &mounts->rows[i];
	error_set(
		err, ERR_IO,
		"it is not known on which mount the file lies, because the list of mounts has none on %s: the mount was removed meanwhile, so try again",
		fs.f_mntonname);
	return NULL;
}

char *mountinfo_inner(const struct mount_row *row, const char *path, struct error *err)
{
	size_t len = strcmp(row->point, "/") == 0 ? 0 : strlen(row->point);
	const char *inner = path_is_below(path, row->point) ? path + len : path;
	char *copy = strdup(*inner ? inner : "/");

	if (!copy)
		error_errno(err, ENOMEM, "mounts");
	return copy;
}
