/* SPDX-License-Identifier: MIT */
#include "store/own_links.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "store/spot.h"
#include "store/walk.h"

/* The first directory on a path that another user may change, called the stranger. */
struct stranger {
	char *dir;     /* path of the directory; NULL: there was no such directory */
	bool owns;     /* true: another user owns the directory; false: other users can only write
		        * to it */
	unsigned user; /* number of the user who owns the directory */
};

struct way {
	struct walk walk;
	const char *path;
	bool direct; /* no link on the path is followed */
	struct stranger stranger;
};

/* Returns true if other users can write to the directory. On most systems, each user has a group
 * with the same number as the user, and without other members. So a group with this number is not
 * counted as other users. A group with any other number may have any members. If the directory has
 * an access control list, its group bits stand for the rights of all users and groups in the
 * list. */
static bool others_can_write(int dir, const struct stat *st)
{
	const bool is_own_group = st->st_gid == getegid() && st->st_gid == geteuid();

	if (st->st_mode & S_ISVTX)
		return false;
	return st->st_mode & S_IWOTH ||
	       (st->st_mode & S_IWGRP && (!is_own_group || file_has_acl(dir)));
}

/* Refuses the path, because another user may change a directory on it. `what` names a file and its
 * fault, for example "/tmp/a is a link". `could` says what the other user could have done, and
 * `next` says what the reader of the message should do. */
static int refuse_by_stranger(const struct way *way, const char *what, const char *dir,
			      const char *could, const char *next, struct error *err)
{
	const struct stranger *stranger = &way->stranger;
	const char *where = strcmp(stranger->dir, dir) == 0 ? "in" : "below";

	if (stranger->owns)
		return error_set(err, ERR_DENIED, "%s %s %s, which belongs to user %u, %s: %s",
				 what, where, stranger->dir, stranger->user, could, next);
	return error_set(
		err, ERR_DENIED,
		"%s %s %s, which other users can write to: %s, or fix it with: chmod go-w %s", what,
		where, stranger->dir, next, stranger->dir);
}

static int refuse_link(const struct way *way, const char *name, const struct stat *st,
		       struct error *err)
{
	static const char could[] = "who could make it lead to another place",
			  next[] = "name the target of the link";
	autofree char *dir = spot_path_of(way->walk.at, err);
	autofree char *link = dir ? path_join(dir, name, err) : NULL;
	autofree char *what = NULL;

	if (!link)
		return -1;
	if (!way->stranger.dir || !walk_trusts_link(way->walk.at, st)) {
		error_set(err, ERR_DENIED, "%s is a link that user %u owns, %s: %s", link,
			  (unsigned)st->st_uid, could, next);
	} else {
		if (asprintf(&what, "%s is a link", link) < 0)
			return error_errno(err, ENOMEM, "%s", link);
		refuse_by_stranger(way, what, dir, could, next, err);
	}
	return strcmp(link, way->path) == 0 ? -1 : error_prefix(err, "%s", way->path);
}

/* If the name is a link that may be followed, puts the names in the link's target before the
 * remaining names, and returns 1. Returns 0 if the name is not a link, or -1 with err set. */
static int follow_own(struct way *way, const char *name, own_links_rule *rule, struct error *err)
{
	struct error why = {0};
	struct stat st;

	if (fstatat(way->walk.at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(st.st_mode))
		return 0;
	if (rule && rule(way->walk.at, way->path, err) < 0)
		return -1;
	if (way->stranger.dir || !walk_trusts_link(way->walk.at, &st))
		return refuse_link(way, name, &st, err);
	if (way->direct)
		return error_set(
			err, ERR_DENIED,
			"a symbolic link is on the way to %s, and it is not followed, because a guest could have made it: name the file without the link",
			way->path);
	if (walk_follow(&way->walk, name, &why) == 0)
		return 1;
	return error_errno(err, why.errnum, "%s", way->path);
}

/* Enters the directory `name`. If `last` is set, the directory is the last of the path, and must
 * not be a link. */
static int step(struct way *way, const char *name, bool last, struct error *err)
{
	int place = file_open_place(way->walk.at, name, O_NOFOLLOW);
	int why = errno, link;

	if (place >= 0) {
		walk_stand_at(&way->walk, place);
		return 0;
	}
	link = last ? 0 : follow_own(way, name, NULL, err);
	return link == 0 ? error_errno(err, why, "%s", way->path) : link < 0 ? -1 : 0;
}

/* Checks the current directory, in which the next name will be searched, and returns the next name.
 * The caller frees the name. */
static char *next_name(struct way *way, struct error *err)
{
	struct stranger *stranger = &way->stranger;
	struct stat st;
	char *name;

	if (!stranger->dir) {
		if (fstat(way->walk.at, &st) < 0) {
			error_errno(err, errno, "%s", way->path);
			return NULL;
		}
		const bool trusted = walk_trusts_dir(way->walk.at, &st);
		if (!trusted || others_can_write(way->walk.at, &st)) {
			stranger->dir = spot_path_of(way->walk.at, err);
			stranger->owns = !trusted;
			stranger->user = (unsigned)st.st_uid;
			if (!stranger->dir)
				return NULL;
		}
	}
	name = walk_next_name(&way->walk);
	if (!name)
		error_errno(err, ENOMEM, "%s", way->path);
	return name;
}

/* Begins at the first directory of the path. A relative path begins at the working directory, whose
 * owner is not checked. */
static int way_begin(struct way *way, struct error *err)
{
	autoclose int here = *way->path == '/' ? -1 : file_open_place(AT_FDCWD, ".", 0);

	if (here < 0 && *way->path != '/')
		return error_errno(err, errno, "%s", way->path);
	return walk_begin(&way->walk, here, way->path, err);
}

static void way_end(struct way *way)
{
	walk_end(&way->walk);
	free(way->stranger.dir);
}
#define auto_way __attribute__((cleanup(way_end)))

int own_links_dir(const char *path, struct error *err)
{
	auto_way struct way way = {.walk.at = -1, .path = path};

	if (way_begin(&way, err) < 0)
		return -1;
	while (!walk_is_over(&way.walk)) {
		autofree char *name = next_name(&way, err);

		if (!name || step(&way, name, walk_is_over(&way.walk), err) < 0)
			return -1;
	}
	return steal_fd(&way.walk.at);
}

/* --- files ----------------------------------------------------------------------------------- */

/* Refuses a file with several names (hard links) if another user may have made the name in the
 * path. If fs.protected_hardlinks is off, a user can make a hard link to a file of another user,
 * for example in /tmp, and so let a path lead to that file. */
static int check_names(const struct way *way, int fd, struct error *err)
{
	const struct stranger *stranger = &way->stranger;
	autofree char *dir = NULL, *what = NULL;
	struct stat st, within;

	if (fstat(fd, &st) < 0 || fstat(way->walk.at, &within) < 0)
		return error_errno(err, errno, "%s", way->path);
	if (!S_ISREG(st.st_mode) || st.st_nlink < 2)
		return 0;
	if (!stranger->dir && within.st_mode & S_ISVTX && within.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(
			err, ERR_DENIED,
			"%s has a second name (a hard link), and any user can make such links in its directory: copy it to a directory of your own",
			way->path);
	if (!stranger->dir || (stranger->owns && stranger->user == (unsigned)st.st_uid))
		return 0;
	dir = spot_path_of(way->walk.at, err);
	if (!dir)
		return -1;
	if (asprintf(&what, "%s has a second name (a hard link), and this one is", way->path) < 0)
		return error_errno(err, ENOMEM, "%s", way->path);
	return refuse_by_stranger(way, what, dir, "who could have made it",
				  "copy it to a directory of your own", err);
}

/* Opens the file with the last name of the path. If this name is a link, sets *again and returns -1
 * without an error, because the names in the link's target must be followed first. */
static int open_last(struct way *way, const char *name, int flags, own_links_rule *rule,
		     bool *again, struct error *err)
{
	autoclose int fd =
		openat(way->walk.at, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int why = errno, link;

	*again = false;
	if (fd >= 0)
		return check_names(way, fd, err) < 0 ? -1 : steal_fd(&fd);
	link = follow_own(way, name, rule, err);
	*again = link > 0;
	return link == 0 ? error_errno(err, why, "%s", way->path) : -1;
}

static int open_file(const char *path, int flags, bool direct, own_links_rule *rule,
		     struct error *err)
{
	auto_way struct way way = {.walk.at = -1, .path = path, .direct = direct};
	bool again = true, by_link = false;
	autoclose int fd = -1;

	if (way_begin(&way, err) < 0)
		return -1;
	while (again && !walk_is_over(&way.walk)) {
		autofree char *name = next_name(&way, err);

		if (!name)
			return -1;
		if (walk_is_over(&way.walk)) {
			fd = open_last(&way, name, flags, rule, &again, err);
			by_link = by_link || again;
		} else if (step(&way, name, false, err) < 0) {
			return -1;
		}
	}
	/* No name remains, and no name was that of a file: the path is "/" or a link to "/". */
	if (again)
		return error_errno(err, EISDIR, "%s", path);
	if (fd >= 0 && by_link && rule && rule(way.walk.at, path, err) < 0)
		return -1;
	return steal_fd(&fd);
}

int own_links_file(const char *path, int flags, own_links_rule *rule, struct error *err)
{
	return open_file(path, flags, false, rule, err);
}

int own_links_file_direct(const char *path, int flags, struct error *err)
{
	return open_file(path, flags, true, NULL, err);
}
