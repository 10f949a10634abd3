/* SPDX-License-Identifier: MIT */
#include "store/spot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/platform/file.h"

void spot_close(struct spot *spot)
{
	cleanup_close(&spot->fd);
	free(spot->path);
	free(spot->inner);
	*spot = (struct spot)SPOT_NONE;
}

char *spot_path_of(int fd, struct error *err)
{
	char path[PATH_MAX];
	ssize_t n = file_path(fd, path, sizeof(path));
	char *copy = n > 0 ? strndup(path, (size_t)n) : NULL;

	if (!copy)
		error_errno(err, n > 0 ? ENOMEM : errno, "the path of a directory");
	return copy;
}

int spot_make(int fd, const struct mountinfo *mounts, struct spot *out, struct error *err)
{
	*out = (struct spot){.fd = fd};
	if (fstat(fd, &out->st) < 0)
		return error_errno(err, errno, "stat");
	out->path = spot_path_of(fd, err);
	const struct mount_row *row = out->path ? mountinfo_of(mounts, fd, err) : NULL;
	if (!row)
		return -1;
	out->device = row->device;
	out->inner = mountinfo_inner(row, out->path, err);
	return out->inner ? 0 : -1;
}

int spot_find(const char *path, const struct mountinfo *mounts, struct spot *out, struct error *err)
{
	int fd = file_open_place(AT_FDCWD, path, 0);

	*out = (struct spot)SPOT_NONE;
	/* If this process has no free descriptor, this function must fail: the result 0 would mean
	 * that the directory does not exist, and a rule about the directory would not be
	 * applied. */
	if (fd < 0 && fd_is_lacking(errno))
		return error_errno(err, errno, "%s", path);
	if (fd < 0)
		return 0;
	return spot_make(fd, mounts, out, err) < 0 ? -1 : 1;
}

/* --- comparing ------------------------------------------------------------------------------- */

static bool is_spot_of(const struct spot *a, const struct stat *st)
{
	return a->st.st_dev == st->st_dev && a->st.st_ino == st->st_ino;
}

bool spot_is(const struct spot *a, const struct spot *b)
{
	return is_spot_of(a, &b->st);
}

bool spot_holds(const struct spot *outer, const struct spot *inner)
{
	struct stat st;
	bool same_file_system = outer->device == inner->device;
	autofree char *path = strdup(inner->path);

	if (same_file_system && path_is_below(inner->inner, outer->inner))
		return true;
	/* The loop goes from `inner` through its parent directories to "/", across all mounts. */
	for (char *end = path ? path + strlen(path) : NULL; end; end = strrchr(path, '/')) {
		*end = '\0';
		if (stat(*path ? path : "/", &st) == 0 && is_spot_of(outer, &st))
			return true;
	}
	return false;
}

bool spot_is_reached(const struct spot *spot, const struct spot *rule, enum reach reach)
{
	bool same = spot_is(spot, rule);

	switch (reach) {
	case REACH_ITSELF:
		return same;
	case REACH_BELOW:
		return same || spot_holds(rule, spot);
	case REACH_ABOVE:
		return !same && spot_holds(spot, rule);
	case REACH_ROUND:
		return same || spot_holds(rule, spot) || spot_holds(spot, rule);
	}
	return true;
}

/* Returns true if the mount shows a directory to which the rule applies. */
static bool is_spot_mounted(const struct mount_row *row, const struct spot *rule, enum reach reach)
{
	if (row->device != rule->device)
		return false;
	if (path_is_below(rule->inner, row->root))
		return true;
	return (reach == REACH_BELOW || reach == REACH_ROUND) &&
	       path_is_below(row->root, rule->inner);
}

const struct mount_row *spot_next_below(const struct spot *spot, const struct mountinfo *mounts,
					size_t *at)
{
	while (*at < mounts->count) {
		const struct mount_row *row = &mounts->rows[(*at)++];

		if (path_is_below(row->point, spot->path) && strcmp(row->point, spot->path) != 0)
			return row;
	}
	return NULL;
}

const struct mount_row *spot_mounted_below(const struct spot *spot, const struct mountinfo *mounts,
					   const struct spot *rule, enum reach reach)
{
	const struct mount_row *row;
	size_t at = 0;

	while ((row = spot_next_below(spot, mounts, &at)))
		if (is_spot_mounted(row, rule, reach))
			return row;
	return NULL;
}
