/* SPDX-License-Identifier: MIT */
/*
 * Judges each directory on a path. The system searches each name of a path in a directory. A guest
 * that may write to that directory can replace the name by a link or another directory. So it is
 * not enough to check the directory to which the path leads now.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "store/share/parts.h"
#include "store/walk.h"

void share_looked_free(struct share_looked *looked)
{
	free(looked->dirs);
	*looked = (struct share_looked){0};
}

void share_way_free(struct share_way *way)
{
	free(way->name);
	*way = (struct share_way){0};
}

/* Finds out whether the shared directory contains the directory that is open as `at`. Uses no
 * earlier result. Sets out->in_share if the directory is in the shared directory, by its path or by
 * its location in the file system. Otherwise sets out->row to the mount below the shared directory
 * that shows the directory, or to NULL. */
static int look_at(const struct judge *judge, int at, struct share_looked_dir *out,
		   struct error *err)
{
	auto_spot struct spot place = SPOT_NONE;
	/* Duplicates the descriptor, because opening the directory again by a name would need the
	 * right to search it. */
	int fd = fcntl(at, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return error_errno(err, errno, "a directory");
	if (spot_make(fd, judge->mounts, &place, err) < 0)
		return -1;
	*out = (struct share_looked_dir){.device = place.st.st_dev, .inode = place.st.st_ino};
	out->in_share = spot_is(judge->spot, &place) || spot_holds(judge->spot, &place);
	if (!out->in_share)
		out->row = spot_mounted_below(judge->spot, judge->mounts, &place, REACH_ABOVE);
	return 0;
}

/* Does what look_at() does, but uses the result of an earlier call for the same directory, because
 * most paths begin with the same directories. */
static int look(const struct judge *judge, int at, struct share_looked_dir *out, struct error *err)
{
	struct share_looked *looked = judge->looked;
	struct share_looked_dir *room;
	struct stat st;

	if (fstat(at, &st) < 0)
		return error_errno(err, errno, "a directory");
	for (size_t i = 0; i < looked->count; i++) {
		if (looked->dirs[i].inode != st.st_ino || looked->dirs[i].device != st.st_dev)
			continue;
		*out = looked->dirs[i];
		return 0;
	}
	if (look_at(judge, at, out, err) < 0)
		return -1;
	room = array_resize(looked->dirs, looked->count + 1, sizeof(*room));
	if (!room)
		return error_errno(err, ENOMEM, "directories on a way");
	looked->dirs = room;
	looked->dirs[looked->count++] = *out;
	return 0;
}

/* Notes a name that the guest could replace. Of several names, `way` keeps the first link, or the
 * first name if no name is a link. */
static int note(struct share_way *way, int at, const char *name, bool is_link,
		const struct share_looked_dir *dir, struct error *err)
{
	autofree char *path = NULL;

	way->row = way->row ? way->row : dir->row;
	if (way->name && (way->by_link || !is_link))
		return 0;
	path = spot_path_of(at, err);
	free(way->name);
	way->name = path ? path_join(path, name, err) : NULL;
	way->by_link = is_link;
	return way->name ? 0 : -1;
}

int share_way_look(const struct judge *judge, const char *path, struct share_way *out,
		   struct error *err)
{
	__attribute__((cleanup(walk_end))) struct walk walk = {.at = -1};
	__attribute__((cleanup(share_way_free))) struct share_way way = {0};
	autoclose int here = *path == '/' ? -1 : file_open_place(AT_FDCWD, ".", 0);
	struct share_looked_dir dir = {0};
	struct error ignored;
	struct stat st;

	*out = (struct share_way){0};
	/* If the working directory was removed, a relative path does not lead anywhere. */
	if (here < 0 && *path != '/')
		return 0;
	if (walk_begin(&walk, here, path, err) < 0)
		return -1;
	while (!walk_is_over(&walk)) {
		autofree char *name = walk_next_name(&walk);
		/* A guest cannot replace "." and "..". */
		bool is_fixed = name && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0);
		int place = name ? file_open_place(walk.at, name, O_NOFOLLOW) : -1;
		bool is_link = place < 0 && name &&
			       fstatat(walk.at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			       S_ISLNK(st.st_mode);
		int status = name ? 0 : error_errno(err, ENOMEM, "%s", path);

		if (status == 0 && !is_fixed)
			status = look(judge, walk.at, &dir, err);
		if (status == 0 && !is_fixed && (dir.in_share || dir.row))
			status = note(&way, walk.at, name, is_link, &dir, err);
		if (status < 0) {
			cleanup_close(&place);
			return -1;
		}
		if (place >= 0) {
			walk_stand_at(&walk, place);
			continue;
		}
		/* The next name does not exist or cannot be opened, or the path has more links than
		 * the kernel follows. */
		if (!is_link || walk_follow(&walk, name, &ignored) < 0)
			goto end;
	}
	/* The path ends with the current directory, which is checked too, because names will be
	 * searched in it. */
	if (look(judge, walk.at, &dir, err) < 0)
		return -1;
	way.row = way.row ? way.row : dir.row;
end:
	way.ends_in_share = dir.in_share;
	*out = way;
	way = (struct share_way){0};
	return 0;
}

int share_way_apply(const struct judge *judge, const char *path, const char *what,
		    struct error *err)
{
	auto_share_way struct share_way way = {0};

	if (share_way_look(judge, path, &way, err) < 0)
		return -1;
	if (way.ends_in_share || !(way.name || way.row))
		return 0;
	if (way.row)
		return error_set(
			err, ERR_INVALID,
			"%s has a part of the path to %s mounted in it, on %s: " SHARE_READ_ONLY,
			judge->wish->path, what, way.row->point);
	return error_set(err, ERR_INVALID,
			 "%s is reached by %s%s, which %s holds: " SHARE_READ_ONLY, what,
			 way.by_link ? "the link " : "", way.name, judge->wish->path);
}
