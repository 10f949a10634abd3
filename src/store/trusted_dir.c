/* SPDX-License-Identifier: MIT */
#include "store/trusted_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "store/spot.h"
#include "store/walk.h"

int trusted_dir_check_mode(const struct stat *st, const char *path, struct error *err)
{
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return error_set(err, ERR_DENIED,
				 "%s can be written by other users; fix it with: chmod go-w %s",
				 path, path);
	return 0;
}

/* Refuses a file because of its owner. In the message, the path is followed by the text `what`, for
 * example " is a link that" or "". */
static int refuse_owner(const struct stat *st, const char *path, const char *what,
			struct error *err)
{
	return error_set(
		err, ERR_DENIED,
		"%s%s belongs to user %u, but you are user %u; choose a directory of your own",
		path, what, (unsigned)st->st_uid, (unsigned)geteuid());
}

int trusted_dir_check_own(int fd, const char *path, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	return st.st_uid == geteuid() ? trusted_dir_check_mode(&st, path, err)
				      : refuse_owner(&st, path, "", err);
}

/* Checks a directory on the path. A directory in which other users can write is accepted if it is
 * sticky, because there only the entry's owner, the directory's owner and root can rename an
 * entry. */
static int check_above(int fd, struct error *err)
{
	autofree char *path = NULL;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "stat");
	const bool trusted = walk_trusts_dir(fd, &st);
	if (trusted && (st.st_mode & S_ISVTX || !(st.st_mode & (S_IWGRP | S_IWOTH))))
		return 0;
	path = spot_path_of(fd, err);
	if (!path)
		return -1;
	return trusted ? trusted_dir_check_mode(&st, path, err) : refuse_owner(&st, path, "", err);
}

static int walk_on(struct walk *walk, const char *name, bool create, struct error *err)
{
	autofree char *dir = NULL, *path = NULL;
	struct stat st;
	int place, why;

	if (check_above(walk->at, err) < 0)
		return -1;
	place = file_open_place(walk->at, name, O_NOFOLLOW);
	why = errno;
	if (place < 0 && why == ENOENT && create) {
		if (mkdirat(walk->at, name, S_IRWXU) < 0 && errno != EEXIST)
			return error_errno(err, errno, "make directory %s", name);
		place = file_open_place(walk->at, name, O_NOFOLLOW);
		if (place < 0)
			return error_errno(err, errno, "%s", name);
	}
	if (place >= 0) {
		walk_stand_at(walk, place);
		return 0;
	}
	if (fstatat(walk->at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(st.st_mode))
		return error_errno(err, why, "%s", name);
	if (walk_trusts_link(walk->at, &st))
		return walk_follow(walk, name, err);
	dir = spot_path_of(walk->at, err);
	path = dir ? path_join(dir, name, err) : NULL;
	return path ? refuse_owner(&st, path, " is a link that", err) : -1;
}

int trusted_dir_open(int from, const char *path, bool create, struct error *err)
{
	struct walk walk;
	int status = walk_begin(&walk, from, path, err), fd = -1;
	char *name;

	while (status == 0 && !walk_is_over(&walk)) {
		name = walk_next_name(&walk);
		status = name ? walk_on(&walk, name, create, err)
			      : error_errno(err, ENOMEM, "%s", path);
		free(name);
	}
	if (status == 0) {
		fd = openat(walk.at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			error_errno(err, errno, "%s", path);
	}
	walk_end(&walk);
	return fd;
}
