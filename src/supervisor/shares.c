/* SPDX-License-Identifier: MIT */
#include "supervisor/shares.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool is_within(const char *inner, const char *outer)
{
	size_t len = strlen(outer);

	return strncmp(inner, outer, len) == 0 && (inner[len] == '/' || inner[len] == '\0');
}

static int check_place(const char *path, const char *state_dir, struct error *err)
{
	char real[PATH_MAX], state[PATH_MAX];

	if (!realpath(path, real))
		return error_errno(err, errno, "%s", path);
	if (strcmp(real, "/") == 0)
		return error_set(err, ERR_INVALID,
				 "%s is \"/\": share the one directory that the "
				 "task needs",
				 path);
	/* One that is not there yet is taken by its name. */
	const char *place = realpath(state_dir, state) ? state : state_dir;
	if (is_within(real, place))
		return error_set(err, ERR_INVALID, "%s is in the state directory %s", path, place);
	if (is_within(place, real))
		return error_set(err, ERR_INVALID, "%s holds the state directory %s", path, place);
	return 0;
}

/* Writing takes an owner; reading only what everybody may, since the program that reads is nobody
 * else. */
static int check_rights(const char *path, const struct stat *st, bool read_only, struct error *err)
{
	bool ours = st->st_uid == geteuid();
	mode_t others = S_IROTH | S_IXOTH;

	if (access(path, R_OK | X_OK) < 0)
		return error_errno(err, errno, "%s", path);
	if (!ours && !read_only)
		return error_set(err, ERR_DENIED,
				 "%s is not yours (owner uid %u): share it with mode \"ro\", or a "
				 "directory of your own",
				 path, (unsigned)st->st_uid);
	if (!ours && (st->st_mode & others) != others)
		return error_set(err, ERR_DENIED,
				 "%s is not yours (owner uid %u) and not everybody may read it",
				 path, (unsigned)st->st_uid);
	if (!read_only && !(st->st_mode & S_IWUSR))
		return error_set(err, ERR_DENIED,
				 "%s is read-only: share it with mode \"ro\", or make it writable",
				 path);
	return 0;
}

/* Who serves it is a guest's root, to whom the kernel gives our rights over what has our user and
 * our group, and no others: a directory that is closed to others would stop it with no good word. */
static int check_way(const char *path, struct error *err)
{
	char real[PATH_MAX];
	struct stat st;

	if (!realpath(path, real))
		return error_errno(err, errno, "%s", path);
	/* From the directory itself upwards. */
	for (char *end = real + strlen(real); end > real; end = strrchr(real, '/')) {
		*end = '\0';
		if (stat(real, &st) < 0)
			return error_errno(err, errno, "%s", real);
		if (st.st_mode & S_IXOTH || (st.st_uid == geteuid() && st.st_gid == getegid()))
			continue;
		return error_set(err, ERR_DENIED,
				 "%s is closed to others and not of your own user and group (%u "
				 "and %u): `chmod o+x` opens it for what serves the share",
				 real, (unsigned)geteuid(), (unsigned)getegid());
	}
	return 0;
}

static int check_share(const json_t *share, const char *state_dir, struct error *err)
{
	const char *path = json_string_value(json_object_get(share, "path"));
	bool read_only = strcmp(json_string_value(json_object_get(share, "mode")), "ro") == 0;
	struct stat st;

	if (lstat(path, &st) < 0 && errno == ENOENT)
		return error_set(err, ERR_NOT_FOUND, "%s does not exist", path);
	if (lstat(path, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (S_ISLNK(st.st_mode))
		return error_set(err, ERR_INVALID,
				 "%s is a symbolic link: name the directory itself", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is not a directory", path);
	if (check_place(path, state_dir, err) < 0)
		return -1;
	return check_rights(path, &st, read_only, err) < 0 ? -1 : check_way(path, err);
}

int shares_check(const struct config *config, struct error *err)
{
	json_t *share;
	size_t i;

	json_array_foreach(config->shares, i, share)
	{
		if (check_share(share, config->state_dir, err) < 0)
			return error_prefix(err, "config.shares[%zu].path", i);
	}
	return 0;
}
