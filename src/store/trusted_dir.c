/* SPDX-License-Identifier: MIT */
#include "store/trusted_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "store/internal.h"
#include "store/spot.h"

#define LINKS_MAX 40 /* as many as Linux follows: path_resolution(7) */

/* Where a walk is, and the names that it has still to go. */
struct walk {
	int at;
	char *rest;
	unsigned links;
	bool create;
};

int trusted_dir_check_mode(const struct stat *st, const char *path, struct error *err)
{
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return error_set(err, ERR_DENIED,
				 "%s can be written by other users; mend it with: chmod go-w %s",
				 path, path);
	return 0;
}

/* what: " is a link that", for one, or "". */
static int refuse_owner(const struct stat *st, const char *path, const char *what,
			struct error *err)
{
	return error_set(err, ERR_DENIED,
			 "%s%s belongs to user %u, and this is user %u; choose a directory of your "
			 "own",
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

static bool is_trusted(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0 || user_is_nameless(st->st_uid);
}

/* In a sticky directory only the owner of an entry, the owner of the directory and root can rename
 * the entry. */
static int check_above(int fd, struct error *err)
{
	autofree char *path = NULL;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "stat");
	if (is_trusted(&st) && (st.st_mode & S_ISVTX || !(st.st_mode & (S_IWGRP | S_IWOTH))))
		return 0;
	path = spot_path_of(fd, err);
	if (!path)
		return -1;
	return is_trusted(&st) ? trusted_dir_check_mode(&st, path, err)
			       : refuse_owner(&st, path, "", err);
}

static int check_link(int dirfd, const char *name, const struct stat *st, struct error *err)
{
	autofree char *dir = NULL, *path = NULL;

	if (is_trusted(st))
		return 0;
	dir = spot_path_of(dirfd, err);
	path = dir ? path_join(dir, name, err) : NULL;
	return path ? refuse_owner(st, path, " is a link that", err) : -1;
}

static int walk_stand_at(struct walk *walk, int place)
{
	cleanup_close(&walk->at);
	walk->at = place;
	return 0;
}

/* Puts the link's target in front of the names that are left. */
static int follow_link(struct walk *walk, const char *name, struct error *err)
{
	autofree char *behind = walk->rest;
	char target[PATH_MAX];
	ssize_t len = readlinkat(walk->at, name, target, sizeof(target) - 1);
	autobuf struct buf rest = BUF_INIT(0);
	int top;

	walk->rest = NULL;
	if (len < 0 || ++walk->links > LINKS_MAX)
		return error_errno(err, len < 0 ? errno : ELOOP, "%s", name);
	target[len] = '\0';
	if (buf_printf(&rest, err, "%s/%s", target, behind) < 0)
		return -1;
	walk->rest = buf_steal_string(&rest, err);
	if (!walk->rest || *target != '/')
		return walk->rest ? 0 : -1;
	top = file_open_place(AT_FDCWD, "/", 0);
	return top < 0 ? error_errno(err, errno, "/") : walk_stand_at(walk, top);
}

static int make_and_step(struct walk *walk, const char *name, struct error *err)
{
	int place;

	if (mkdirat(walk->at, name, S_IRWXU) < 0 && errno != EEXIST)
		return error_errno(err, errno, "make directory %s", name);
	place = file_open_place(walk->at, name, O_NOFOLLOW);
	return place < 0 ? error_errno(err, errno, "%s", name) : walk_stand_at(walk, place);
}

static int walk_on(struct walk *walk, const char *name, struct error *err)
{
	struct stat st;
	int place, why;

	if (check_above(walk->at, err) < 0)
		return -1;
	place = file_open_place(walk->at, name, O_NOFOLLOW);
	if (place >= 0)
		return walk_stand_at(walk, place);
	why = errno;
	if (why == ENOENT && walk->create)
		return make_and_step(walk, name, err);
	if (fstatat(walk->at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(st.st_mode))
		return error_errno(err, why, "%s", name);
	return check_link(walk->at, name, &st, err) < 0 ? -1 : follow_link(walk, name, err);
}

/* Takes the next name from those that are left; NULL: that was the last. malloc'd. */
static char *walk_next_name(struct walk *walk)
{
	char *from = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(from, "/");
	char *name = len > 0 ? strndup(from, len) : NULL;

	memmove(walk->rest, from + len, strlen(from + len) + 1);
	return name;
}

int trusted_dir_open(int from, const char *path, bool create, struct error *err)
{
	struct walk walk = {.create = create, .rest = strdup(path)};
	int status = 0, fd = -1;
	char *name;

	walk.at = from < 0 ? file_open_place(AT_FDCWD, "/", 0) : file_open_place(from, ".", 0);
	if (walk.at < 0 || !walk.rest)
		status = error_errno(err, walk.rest ? errno : ENOMEM, "%s", path);
	while (status == 0 && (name = walk_next_name(&walk))) {
		status = walk_on(&walk, name, err);
		free(name);
	}
	if (status == 0) {
		fd = openat(walk.at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			error_errno(err, errno, "%s", path);
	}
	cleanup_close(&walk.at);
	free(walk.rest);
	return fd;
}
