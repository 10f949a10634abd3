/* SPDX-License-Identifier: MIT */
#include "store/own_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "store/cache.h"
#include "store/internal.h"
#include "store/spot.h"
#include "store/trusted_dir.h"

/* The name of the file in which the user's state directories and caches are listed. Each path in it
 * ends with a NUL. When a path is added, paths that do not exist any more are removed. */
#define LIST_NAME "directories"
#define LIST_BYTES ((size_t)1024 * 1024)

static const struct {
	const char *name, *marker;
} own_kinds[OWN_DIR_COUNT] = {
	[OWN_STATE] = {"state directory", ".microagent-state"},
	[OWN_CACHE] = {"cache directory", ".microagent-cache"},
};

const char *own_dir_name(enum own_dir kind)
{
	return own_kinds[kind].name;
}

/* --- markers --------------------------------------------------------------------------------- */

/* A marker that belongs to another user does not count. Otherwise any user could make a marker in
 * /tmp, and then nobody could share a directory below /tmp. */
bool own_dir_is_marked(int dirfd, enum own_dir kind)
{
	struct stat st;

	return fstatat(dirfd, own_kinds[kind].marker, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0);
}

char *own_dir_above(int dirfd, enum own_dir *kind)
{
	autoclose int at = file_open_place(dirfd, ".", 0);
	struct stat st, there;

	if (at < 0 || fstat(at, &st) < 0)
		return NULL;
	for (;;) {
		for (size_t i = 0; i < OWN_DIR_COUNT; i++) {
			if (!own_dir_is_marked(at, (enum own_dir)i))
				continue;
			*kind = (enum own_dir)i;
			return spot_path_of(at, NULL);
		}
		autoclose int above = file_open_place(at, "..", 0);
		/* The parent directory of "/" is "/" itself, so the search ends there. */
		if (above < 0 || fstat(above, &there) < 0 ||
		    (st.st_dev == there.st_dev && st.st_ino == there.st_ino))
			return NULL;
		close(at);
		at = steal_fd(&above);
		st = there;
	}
}

/* Returns true if the directory was already marked and listed under this path: its marker contains
 * the path. A directory that was moved must be listed again. */
static bool is_noted(int dirfd, const char *path, enum own_dir kind)
{
	autobuf struct buf text = BUF_INIT(PATH_MAX + 1);

	if (path_read_file_at(dirfd, own_kinds[kind].marker, &text, NULL) < 0)
		return false;
	return text.len == strlen(path) && memcmp(buf_bytes(&text), path, text.len) == 0;
}

static bool lies_in_another(int dirfd)
{
	enum own_dir kind;
	autoclose int above = file_open_place(dirfd, "..", 0);
	autofree char *found = above < 0 ? NULL : own_dir_above(above, &kind);

	return found != NULL;
}

/* --- the list -------------------------------------------------------------------------------- */

/* Returns the path ${XDG_STATE_HOME:-~/.local/state}/microagent, which the caller frees. Returns
 * NULL if the user has no home. */
static char *list_dir(void)
{
	const char *xdg = getenv("XDG_STATE_HOME");
	autofree char *home = home_dir();

	if (xdg && *xdg == '/')
		return path_join(xdg, "microagent", NULL);
	return home ? path_join(home, ".local/state/microagent", NULL) : NULL;
}

static bool is_directory_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Returns the next path in the text of the list, where each path ends with a NUL. Returns NULL at
 * the end of the list, or if the next path has no NUL. */
static const char *next_path(const struct buf *text, size_t *at)
{
	const char *path = (const char *)buf_bytes(text) + *at;
	size_t len = *at < text->len ? strnlen(path, text->len - *at) : 0;

	if (*at >= text->len || *at + len >= text->len)
		return NULL;
	*at += len + 1;
	return path;
}

/* Opens the directory of the list. Returns -1 on failure, and if the directory belongs to another
 * user. With `sudo -E`, it is in the home of another user. */
static int open_list_dir(const char *place, bool create)
{
	autoclose int dir = trusted_dir_open(-1, place, create, NULL);

	return dir >= 0 && trusted_dir_check_own(dir, place, NULL) == 0 ? steal_fd(&dir) : -1;
}

/* Adds a path to the list. Returns false if another process locks the list for too long. In that
 * case the caller makes no marker, so that a later call adds the path. */
static bool add_to_list(const char *path)
{
	autofree char *place = list_dir();
	autoclose int dir = place ? open_list_dir(place, true) : -1;
	autobuf struct buf old = BUF_INIT(LIST_BYTES), new = BUF_INIT(LIST_BYTES);
	const char *known;
	size_t at = 0;

	/* The lock is on the directory, because the file itself is replaced by each change. */
	if (dir < 0)
		return true;
	if (flock_until(dir, LOCK_EX, limit_deadline(LIMIT_OWN_DIRS_LOCK_MS), place, NULL) < 0)
		return false;
	(void)path_read_file_at(dir, LIST_NAME, &old, NULL);
	while ((known = next_path(&old, &at)))
		if (strcmp(known, path) != 0 && is_directory_there(known) &&
		    buf_append(&new, known, strlen(known) + 1, NULL) < 0)
			return true;
	if (buf_append(&new, path, strlen(path) + 1, NULL) == 0)
		(void)path_replace_file_at(dir, LIST_NAME, buf_bytes(&new), new.len, 0600,
					   PATH_NO_SYNC, NULL);
	return true;
}

static bool looked_at_only;

void own_dirs_look_only(void)
{
	looked_at_only = true;
}

bool own_dirs_are_looked_at_only(void)
{
	return looked_at_only;
}

void own_dir_note(int dirfd, enum own_dir kind)
{
	autofree char *path = looked_at_only ? NULL : spot_path_of(dirfd, NULL);

	if (!path || is_noted(dirfd, path, kind) || lies_in_another(dirfd) || !add_to_list(path))
		return;
	(void)path_replace_file_at(dirfd, own_kinds[kind].marker, path, strlen(path), 0644,
				   PATH_NO_SYNC, NULL);
}

/* --- all directories ------------------------------------------------------------------------- */

int own_dir_each(own_dir_fn *fn, void *data, struct error *err)
{
	autofree char *home = home_dir(), *list = list_dir();
	const struct {
		char *path;
		enum own_dir kind;
	} known[] = {
		{state_dir_default(NULL, NULL), OWN_STATE},
		{home ? path_join(home, ".microagent", NULL) : NULL, OWN_STATE},
		{cache_dir(NULL), OWN_CACHE},
		{home ? path_join(home, ".cache/microagent", NULL) : NULL, OWN_CACHE},
	};
	autobuf struct buf text = BUF_INIT(LIST_BYTES);
	autoclose int dir = -1;
	const char *path;
	size_t at = 0;
	int status = 0;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (status == 0 && known[i].path)
			status = fn(data, known[i].path, own_dir_name(known[i].kind), err);
		free(known[i].path);
	}
	if (status < 0 || !list)
		return status;
	if (fn(data, list, "list of directories", err) < 0)
		return -1;
	dir = open_list_dir(list, false);
	if (dir < 0 || path_read_file_at(dir, LIST_NAME, &text, NULL) < 0)
		return 0;
	while ((path = next_path(&text, &at)))
		if (fn(data, path, "directory of microagent", err) < 0)
			return -1;
	return 0;
}

/* --- opening --------------------------------------------------------------------------------- */

int own_dir_check(int fd, const char *path, enum own_dir kind, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && kind == OWN_CACHE && st.st_uid == 0)
		return trusted_dir_check_mode(&st, path, err);
	return trusted_dir_check_own(fd, path, err);
}

/* Returns the end of `path` after the path of `within`, beginning with '/'. Returns NULL if `path`
 * is not in `within`, or if `within` is NULL. */
static const char *names_below(const char *path, const struct state_dir *within)
{
	size_t len = within ? strlen(within->path) : 0;

	return within && strncmp(path, within->path, len) == 0 && path[len] == '/' ? path + len
										   : NULL;
}

int own_dir_open(const char *path, bool create, enum own_dir kind, const struct state_dir *within,
		 struct error *err)
{
	const char *name = own_dir_name(kind), *below = names_below(path, within);
	autoclose int there = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int fd = -1;

	if (create && looked_at_only)
		return error_set(err, ERR_DENIED, "%s %s cannot be made: this command only reads",
				 name, path);
	if (there < 0 && errno == ENOTDIR)
		return error_set(err, ERR_INVALID, "%s %s is not a directory: name another", name,
				 path);
	if (there < 0 && (errno != ENOENT || !create))
		return error_errno(err, errno, "%s %s", name, path);
	fd = trusted_dir_open(below ? within->fd : -1, below ? below : path, create, err);
	if (fd < 0)
		return error_prefix(err, "%s: %s", name, path);
	if (own_dir_check(fd, path, kind, err) < 0)
		return error_prefix(err, "%s", name);
	return steal_fd(&fd);
}
