/* SPDX-License-Identifier: MIT */
#include "store/share_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/cache.h"
#include "store/mountinfo.h"

/* Numbers of people's accounts; those between are services, whose "homes" are parts of the system.
 */
#define PERSON_FIRST 1000
#define PERSON_LAST 59999

#define NEXT_STEP "share the one directory that the task needs"

enum reach {
	REACH_ITSELF,
	REACH_BELOW, /* and itself */
	REACH_ABOVE, /* what holds it, not itself */
};

static const struct {
	const char *path;
	enum reach reach;
} never[] = {
	{"/", REACH_ITSELF},
	{"/Users", REACH_ITSELF},
	{"/Volumes", REACH_ITSELF},
	{"/home", REACH_ITSELF},
	{"/root", REACH_ITSELF},
	{"/mnt", REACH_ITSELF},
	{"/media", REACH_ITSELF},
	{"/etc", REACH_BELOW},
	{"/proc", REACH_BELOW},
	{"/sys", REACH_BELOW},
	{"/dev", REACH_BELOW},
	{"/run", REACH_BELOW},
	{"/var", REACH_BELOW},
	{"/boot", REACH_BELOW},
	/* Root's own, which every user of the host runs and trusts. /tmp has everybody's files. */
	{"/usr", REACH_ITSELF},
	{"/usr/local", REACH_ITSELF},
	{"/opt", REACH_ITSELF},
	{"/srv", REACH_ITSELF},
	{"/tmp", REACH_ITSELF},
	{"/usr/bin", REACH_BELOW},
	{"/usr/sbin", REACH_BELOW},
	{"/usr/lib", REACH_BELOW},
	{"/usr/lib32", REACH_BELOW},
	{"/usr/lib64", REACH_BELOW},
	{"/usr/libx32", REACH_BELOW},
	{"/usr/libexec", REACH_BELOW},
	{"/usr/include", REACH_BELOW},
	{"/usr/share", REACH_BELOW},
	{"/usr/games", REACH_BELOW},
	{"/usr/local/bin", REACH_BELOW},
	{"/usr/local/sbin", REACH_BELOW},
	{"/usr/local/lib", REACH_BELOW},
	{"/usr/local/libexec", REACH_BELOW},
	{"/usr/local/include", REACH_BELOW},
	{"/usr/local/share", REACH_BELOW},
	{"/usr/local/etc", REACH_BELOW},
	{"/usr/local/games", REACH_BELOW},
	/* Links into /usr, or directories of their own on an unmerged system. */
	{"/bin", REACH_BELOW},
	{"/sbin", REACH_BELOW},
	{"/lib", REACH_BELOW},
	{"/lib32", REACH_BELOW},
	{"/lib64", REACH_BELOW},
	{"/libx32", REACH_BELOW},
};

/* A directory as it can be told from every other. */
struct spot {
	int fd;
	struct stat st;
	char *path;	      /* without links */
	unsigned long device; /* of its file system, in which it is: */
	char *inner;
};
#define SPOT_NONE        \
	{                \
		.fd = -1 \
	}

static void spot_close(struct spot *spot)
{
	cleanup_close(&spot->fd);
	free(spot->path);
	free(spot->inner);
	*spot = (struct spot)SPOT_NONE;
}
#define auto_spot __attribute__((cleanup(spot_close)))

static bool is_within(const char *inner, const char *outer)
{
	size_t len = strcmp(outer, "/") == 0 ? 0 : strlen(outer);

	return strncmp(inner, outer, len) == 0 && (inner[len] == '/' || inner[len] == '\0');
}

static char *path_of(int fd, struct error *err)
{
	char link[48], path[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	char *copy = n > 0 ? strndup(path, (size_t)n) : NULL;

	if (!copy)
		error_errno(err, n > 0 ? ENOMEM : errno, "%s", link);
	return copy;
}

/* Takes fd, also on failure. out is to be closed in either case. */
static int spot_make(int fd, const struct mountinfo *mounts, struct spot *out, struct error *err)
{
	*out = (struct spot){.fd = fd};
	if (fstat(fd, &out->st) < 0)
		return error_errno(err, errno, "stat");
	out->path = path_of(fd, err);
	const struct mount_row *row = out->path ? mountinfo_of(mounts, fd, err) : NULL;
	if (!row)
		return -1;
	out->device = row->device;
	out->inner = mountinfo_inner(row, out->path, err);
	return out->inner ? 0 : -1;
}

/* --- comparing ------------------------------------------------------------------------------- */

static bool is_same_share(const struct spot *a, const struct stat *st)
{
	return a->st.st_dev == st->st_dev && a->st.st_ino == st->st_ino;
}

/* By name where it has one, and by place where a bind mount gives it others. */
static bool holds(const struct spot *outer, const struct spot *inner)
{
	struct stat st;
	bool same_file_system = outer->device == inner->device;
	autofree char *path = strdup(inner->path);

	if (same_file_system && is_within(inner->inner, outer->inner))
		return true;
	/* From the inner one upwards, over all mounts. */
	for (char *end = path ? path + strlen(path) : NULL; end; end = strrchr(path, '/')) {
		*end = '\0';
		if (stat(*path ? path : "/", &st) == 0 && is_same_share(outer, &st))
			return true;
	}
	return false;
}

static bool is_reached(const struct spot *spot, const struct spot *rule, enum reach reach)
{
	bool same = is_same_share(spot, &rule->st);

	switch (reach) {
	case REACH_ITSELF:
		return same;
	case REACH_BELOW:
		return same || holds(rule, spot);
	case REACH_ABOVE:
		return !same && holds(spot, rule);
	}
	return true;
}

/* What a mount below the directory shows of the rule's own file system. */
static bool is_share_mounted(const struct mount_row *row, const struct spot *rule, enum reach reach)
{
	if (row->device != rule->device)
		return false;
	if (reach == REACH_BELOW)
		return is_within(row->root, rule->inner) || is_within(rule->inner, row->root);
	return is_within(rule->inner, row->root);
}

static const struct mount_row *mounted_below(const struct mountinfo *mounts,
					     const struct spot *spot, const struct spot *rule,
					     enum reach reach)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount_row *row = &mounts->rows[i];

		if (is_within(row->point, spot->path) && strcmp(row->point, spot->path) != 0 &&
		    is_share_mounted(row, rule, reach))
			return row;
	}
	return NULL;
}

/* --- the rules ------------------------------------------------------------------------------- */

struct judge {
	const char *path; /* as it was given */
	const struct spot *spot;
	const struct mountinfo *mounts;
};

/* 1: there is such a directory; 0: there is not, and so it is shared by nobody. */
static int find_rule(const struct judge *judge, const char *path, struct spot *out,
		     struct error *err)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	return spot_make(fd, judge->mounts, out, err) < 0 ? -1 : 1;
}

static int refuse(const struct judge *judge, enum reach reach, const char *rule, struct error *err)
{
	const char *path = judge->path;

	if (reach == REACH_ITSELF)
		return error_set(err, ERR_INVALID, "%s is %s, which is never shared: " NEXT_STEP,
				 path, rule);
	if (reach == REACH_BELOW)
		return error_set(
			err, ERR_INVALID,
			"%s is in %s, of which nothing is shared: copy what the task needs "
			"into a directory of yours and share that",
			path, rule);
	return error_set(err, ERR_INVALID, "%s holds %s: " NEXT_STEP, path, rule);
}

/* what: the rule in words. */
static int apply(const struct judge *judge, const char *path, enum reach reach, const char *what,
		 struct error *err)
{
	auto_spot struct spot rule = SPOT_NONE;
	int found = find_rule(judge, path, &rule, err);
	const struct mount_row *row;

	if (found <= 0)
		return found;
	if (is_reached(judge->spot, &rule, reach))
		return refuse(judge, reach, what, err);
	/* Mounts of a whole root file system are found by what is refused in it. */
	row = strcmp(path, "/") == 0 ? NULL
				     : mounted_below(judge->mounts, judge->spot, &rule, reach);
	if (!row)
		return 0;
	return error_set(err, ERR_INVALID,
			 "%s has %s mounted in it, on %s: unmount that or share another directory",
			 judge->path, what, row->point);
}

static int apply_fixed(const struct judge *judge, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (apply(judge, never[i].path, never[i].reach, never[i].path, err) < 0)
			return -1;
	return 0;
}

static int apply_home(const struct judge *judge, const char *home, struct error *err)
{
	autofree char *what = NULL;

	if (!home || *home != '/' || strcmp(home, "/") == 0)
		return 0;
	if (asprintf(&what, "the home directory %s", home) < 0) {
		what = NULL;
		return error_errno(err, ENOMEM, "home directories");
	}
	return apply(judge, home, REACH_ABOVE, what, err);
}

static bool is_person(uid_t uid)
{
	return uid == 0 || uid == geteuid() || (uid >= PERSON_FIRST && uid <= PERSON_LAST);
}

/* The people of this host, and us if we are none of them. */
static int apply_homes(const struct judge *judge, struct error *err)
{
	autofile FILE *file = fopen("/etc/passwd", "re");
	struct passwd entry = {0}, *found = NULL;
	char room[4096];

	while (file && fgetpwent_r(file, &entry, room, sizeof(room), &found) == 0)
		if (is_person(entry.pw_uid) && apply_home(judge, entry.pw_dir, err) < 0)
			return -1;
	return apply_home(judge, getenv("HOME"), err);
}

/* The deepest part of path that is there; path is cut. */
static void cut_to_existing(char *path)
{
	struct stat st;

	while (stat(path, &st) < 0 && strrchr(path, '/') > path)
		*strrchr(path, '/') = '\0';
	if (stat(path, &st) < 0 && *path)
		path[1] = '\0';
}

/* One of ours, which need not be there yet. what: "state directory". */
static int apply_own_dir(const struct judge *judge, const char *dir, const char *what,
			 struct error *err)
{
	auto_spot struct spot rule = SPOT_NONE;
	autofree char *there = strdup(dir);
	int found;

	if (!there)
		return error_errno(err, ENOMEM, "%s", what);
	cut_to_existing(there);
	found = find_rule(judge, there, &rule, err);
	if (found <= 0)
		return found;
	bool made = strcmp(there, dir) == 0;
	if (made && is_reached(judge->spot, &rule, REACH_BELOW))
		return error_set(err, ERR_INVALID,
				 "%s is in the %s %s: share a directory elsewhere", judge->path,
				 what, dir);
	if (is_reached(judge->spot, &rule, REACH_ABOVE) ||
	    (!made && is_same_share(judge->spot, &rule.st)))
		return error_set(err, ERR_INVALID, "%s holds the %s %s: " NEXT_STEP, judge->path,
				 what, dir);
	const struct mount_row *row = mounted_below(judge->mounts, judge->spot, &rule, REACH_BELOW);
	if (!row || !made)
		return 0;
	return error_set(err, ERR_INVALID,
			 "%s has the %s %s mounted in it, on %s: unmount that or share another "
			 "directory",
			 judge->path, what, dir, row->point);
}

/* Kernels and images of every machine to come. No cache: nothing to be kept from anybody. */
static int apply_cache_dir(const struct judge *judge, struct error *err)
{
	autofree char *dir = cache_dir(NULL);

	return dir ? apply_own_dir(judge, dir, "cache directory", err) : 0;
}

/* Sessions have a state directory of their own in the user's, beside the bases. */
static char *state_dir_above(const char *state_dir)
{
	const char *slash = strrchr(state_dir, '/');
	char bases[PATH_MAX];
	struct stat st;

	if (!slash || slash == state_dir || strcmp(slash, "/sessions") != 0)
		return NULL;
	snprintf(bases, sizeof(bases), "%.*s/bases", (int)(slash - state_dir), state_dir);
	return stat(bases, &st) == 0 ? strndup(state_dir, (size_t)(slash - state_dir)) : NULL;
}

/* --- rights ---------------------------------------------------------------------------------- */

static int check_rights(const char *path, const struct spot *spot, bool read_only,
			struct error *err)
{
	char link[48];

	if (spot->st.st_uid != geteuid())
		return error_set(err, ERR_DENIED,
				 "%s is not yours (owner uid %u): copy what the task needs into a "
				 "directory of yours and share that",
				 path, (unsigned)spot->st.st_uid);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", spot->fd);
	if (access(link, R_OK | X_OK) < 0)
		return error_errno(err, errno, "%s", path);
	if (!read_only && !(spot->st.st_mode & S_IWUSR))
		return error_set(err, ERR_DENIED,
				 "%s is read-only: share it read-only (mode \"ro\"), or make it "
				 "writable",
				 path);
	/* Who serves it is a guest's root, to whom the kernel gives our rights over what has our
	 * user and our group, and no others. */
	if (!(spot->st.st_mode & S_IXOTH) && spot->st.st_gid != getegid())
		return error_set(err, ERR_DENIED,
				 "%s is closed to others and not of your own group (%u): `chmod "
				 "o+x` opens it for what serves the share",
				 path, (unsigned)getegid());
	return 0;
}

static int open_share_dir(const char *path, struct error *err)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return error_set(err, ERR_NOT_FOUND, "%s does not exist: `mkdir` makes it", path);
	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_nlink > 0)
		return fd;
	close(fd);
	if (S_ISLNK(st.st_mode))
		return error_set(err, ERR_INVALID,
				 "%s is a symbolic link: name the directory itself", path);
	return error_set(err, ERR_INVALID,
			 "%s is not a directory: share the one that the task's files are in", path);
}

static int judge_all(const char *path, const char *state_dir, const struct spot *spot,
		     const struct mountinfo *mounts, struct error *err)
{
	const struct judge judge = {path, spot, mounts};
	static const char state[] = "state directory";
	autofree char *above = state_dir_above(state_dir);

	if (apply_fixed(&judge, err) < 0 ||
	    (above && apply_own_dir(&judge, above, state, err) < 0) ||
	    apply_own_dir(&judge, state_dir, state, err) < 0 || apply_homes(&judge, err) < 0)
		return -1;
	return apply_cache_dir(&judge, err);
}

int share_dir_open(const char *path, const char *state_dir, bool read_only, struct error *err)
{
	auto_spot struct spot spot = SPOT_NONE;
	struct mountinfo mounts = {0};
	int fd = open_share_dir(path, err);
	int status;

	if (fd < 0)
		return -1;
	if (mountinfo_read(&mounts, err) < 0) {
		close(fd);
		return -1;
	}
	status = spot_make(fd, &mounts, &spot, err);
	if (status == 0)
		status = judge_all(path, state_dir, &spot, &mounts, err);
	mountinfo_free(&mounts);
	if (status < 0 || check_rights(path, &spot, read_only, err) < 0)
		return -1;
	return steal_fd(&spot.fd);
}
