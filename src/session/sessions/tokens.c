/* SPDX-License-Identifier: MIT */
/* Implements the directory of a pool, and the tokens in it. */
#include "session/sessions/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"

/* --- the directory ---------------------------------------------------------------------------- */

/* Opens the pool's directory, which has the name of the pool's base. The name may come from a
 * record that a live supervisor can write, and a guest may have taken the supervisor over. So the
 * name is checked before it becomes a part of the path. */
static int open_pool(const char *state, const char *base, bool create, struct pool *out,
		     struct error *err)
{
	autofree char *root = path_join(state, POOL_DIR, err);
	autofree char *path = NULL;
	struct pool pool = POOL_NONE;

	if (!root || base_version_check(base, err) < 0)
		return -1;
	path = path_join(root, base, err);
	if (!path || state_dir_open_part(path, create, NULL, &pool.dir, err) < 0)
		return -1;
	snprintf(pool.base, sizeof(pool.base), "%s", base);
	*out = pool;
	return 0;
}

int pool_open(const char *state, const char *base, struct pool *out, struct error *err)
{
	return open_pool(state, base, false, out, err);
}

void pool_close(struct pool *pool)
{
	state_dir_close(&pool->dir);
}

static bool is_removed(const struct pool *pool)
{
	struct stat st;

	return fstat(pool->dir.fd, &st) < 0 || st.st_nlink == 0;
}

bool pool_try_lock(const struct pool *pool)
{
	return flock(pool->dir.fd, LOCK_EX | LOCK_NB) == 0 && !is_removed(pool);
}

int pool_open_locked(const char *state, const char *base, struct pool *out, struct error *err)
{
	static const char *const parts[] = {POOL_READY, POOL_CLAIMED, POOL_ENDING};
	auto_pool struct pool pool = POOL_NONE;

	do {
		struct error why = {0};

		pool_close(&pool);
		if (open_pool(state, base, true, &pool, err) < 0)
			return -1;
		if (flock_until(pool.dir.fd, LOCK_EX, limit_deadline(LIMIT_POOL_LOCK_MS),
				pool.dir.path, &why) < 0) {
			if (why.code != ERR_TIMEOUT)
				return error_copy(err, &why);
			return error_set(
				err, ERR_CONFLICT,
				"the pool of %s is being set or drained by another command; wait until that ends",
				pool.base);
		}
	} while (is_removed(&pool));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (mkdirat(pool.dir.fd, parts[i], 0700) < 0 && errno != EEXIST)
			return error_errno(err, errno, "%s/%s", pool.dir.path, parts[i]);
	*out = pool;
	pool = (struct pool)POOL_NONE;
	return 0;
}

bool pool_has_filler(const struct pool *pool)
{
	autoclose int fd =
		openat(pool->dir.fd, POOL_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool pool_is_kept(const struct pool *pool)
{
	return faccessat(pool->dir.fd, POOL_RECORD, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void pool_forget_gone(const struct pool *pool)
{
	json_auto_t *names = pool_tokens(pool, POOL_CLAIMED, NULL);
	const json_t *name;
	char path[64];
	size_t i;

	json_array_foreach(names, i, name)
	{
		snprintf(path, sizeof(path), "../../" SESSIONS_DIR "/%s" BUNDLE_SUFFIX,
			 json_string_value(name));
		if (faccessat(pool->dir.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
			pool_forget(pool, json_string_value(name));
	}
}

/* Removes the directory of a pool that has no tokens. The lock, the log and an unfinished record
 * are removed too, because without tokens nobody needs them. */
void pool_tidy(const struct pool *pool)
{
	static const char *const parts[] = {POOL_ENDING, POOL_READY, POOL_CLAIMED};
	autoclose int root = -1;

	if (pool_is_kept(pool) || !pool_try_lock(pool) || pool_is_kept(pool) ||
	    pool_has_filler(pool))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (unlinkat(pool->dir.fd, parts[i], AT_REMOVEDIR) < 0 && errno != ENOENT)
			return;
	/* The directory is removed through a descriptor of its parent directory. This is done only
	 * if the name in the parent directory still leads to the opened directory. */
	root = openat(pool->dir.fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0 && fd_has_name(pool->dir.fd, root, pool->base))
		(void)path_remove_tree_at(root, pool->base, NULL);
}

static void insert_sorted(json_t *list, const char *name)
{
	size_t at = json_array_size(list);

	while (at > 0 && strcmp(json_string_value(json_array_get(list, at - 1)), name) > 0)
		at--;
	json_array_insert_new(list, at, json_string(name));
}

/* Returns the sorted names of the entries of a directory for which fits() returns true. The caller
 * releases the array. */
static json_t *list_sorted(int dir, const char *name, bool (*fits)(const char *entry),
			   struct error *err)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autodir DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
	json_auto_t *list = json_array();
	const struct dirent *entry;

	if (fd < 0 && errno == ENOENT)
		return steal_ptr(&list);
	if (!entries || !list) {
		error_errno(err, errno, "%s", name);
		if (fd >= 0 && !entries)
			close(fd);
		return NULL;
	}
	while ((entry = readdir(entries)))
		if (fits(entry->d_name))
			insert_sorted(list, entry->d_name);
	return steal_ptr(&list);
}

static bool is_version(const char *word)
{
	return base_version_check(word, NULL) == 0;
}

json_t *pool_bases(const char *state, struct error *err)
{
	autofree char *root = path_join(state, POOL_DIR, err);

	return root ? list_sorted(AT_FDCWD, root, is_version, err) : NULL;
}

/* --- tokens ----------------------------------------------------------------------------------- */

static bool is_session_name(const char *word)
{
	char name[SESSION_NAME_ROOM];

	return session_name_parse(word, name, NULL) == 0 && strcmp(name, word) == 0;
}

json_t *pool_tokens(const struct pool *pool, const char *kind, struct error *err)
{
	json_t *names = list_sorted(pool->dir.fd, kind, is_session_name, err);

	if (!names)
		error_prefix(err, "%s", pool->dir.path);
	return names;
}

static void token_path(const char *kind, const char *name, char out[SESSION_NAME_ROOM + 16])
{
	snprintf(out, SESSION_NAME_ROOM + 16, "%s/%s", kind, name);
}

bool pool_has(const struct pool *pool, const char *kind, const char *name)
{
	char path[SESSION_NAME_ROOM + 16];

	token_path(kind, name, path);
	return faccessat(pool->dir.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int pool_add(const struct pool *pool, const char *name, struct error *err)
{
	char path[SESSION_NAME_ROOM + 16];
	autoclose int fd = -1;

	token_path(POOL_READY, name, path);
	fd = openat(pool->dir.fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? error_errno(err, errno, "%s/%s", pool->dir.path, path) : 0;
}

bool pool_take(const struct pool *pool, const char *name)
{
	char from[SESSION_NAME_ROOM + 16], to[SESSION_NAME_ROOM + 16];

	token_path(POOL_READY, name, from);
	token_path(POOL_CLAIMED, name, to);
	return renameat(pool->dir.fd, from, pool->dir.fd, to) == 0;
}

int pool_end(const struct pool *pool, const char *name, struct error *err)
{
	char from[SESSION_NAME_ROOM + 16], to[SESSION_NAME_ROOM + 16];

	token_path(POOL_READY, name, from);
	token_path(POOL_ENDING, name, to);
	while (renameat(pool->dir.fd, from, pool->dir.fd, to) < 0) {
		if (errno != ENOENT)
			return error_errno(err, errno, "%s/%s", pool->dir.path, from);
		if (!pool_has(pool, POOL_READY, name))
			return 0;
		if (mkdirat(pool->dir.fd, POOL_ENDING, 0700) < 0 && errno != EEXIST)
			return error_errno(err, errno, "%s/" POOL_ENDING, pool->dir.path);
	}
	return 1;
}

void pool_forget(const struct pool *pool, const char *name)
{
	static const char *const kinds[] = {POOL_READY, POOL_CLAIMED, POOL_ENDING};
	char path[SESSION_NAME_ROOM + 16];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		token_path(kinds[i], name, path);
		unlinkat(pool->dir.fd, path, 0);
	}
}

void pool_touch(const struct pool *pool)
{
	utimensat(pool->dir.fd, POOL_CLAIMED, NULL, AT_SYMLINK_NOFOLLOW);
	utimensat(pool->dir.fd, "..", NULL, 0);
}
