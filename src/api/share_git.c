/* SPDX-License-Identifier: MIT */
#include "api/share_git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "store/mountinfo.h"
#include "store/spot.h"

#define GITDIR "gitdir: "
#define LINE_MAX_BYTES 8192u

void share_git_free(struct share_git *git)
{
	free(git->common);
	free(git->place);
	*git = (struct share_git){0};
}

/* --- contents of git's files ------------------------------------------------------------------ */

/* Reads the first line of the regular file dir/name into *line. The caller frees *line. *line stays
 * NULL if there is no such file. ERR_INVALID: the file has more than one name (hard links), so its
 * contents may be those of another worktree. */
static int read_line(const char *dir, const char *name, char **line, struct error *err)
{
	autobuf struct buf text = BUF_INIT(LINE_MAX_BYTES);
	autofree char *path = path_join(dir, name, err);
	struct stat st;

	if (!path)
		return -1;
	autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		return error_set(
			err, ERR_INVALID,
			"%.200s is a symbolic link, but git makes a regular file there: the git repository is not shared; add it as a share of its own",
			path);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (st.st_nlink != 1)
		return error_set(
			err, ERR_INVALID,
			"%.200s is a file with several names (hard links), but git makes a file with one name: the git repository is not shared; add it as a share of its own",
			path);
	if (fd_read_to_end(fd, &text, NULL) < 0)
		return 0;
	*line = buf_steal_string(&text, err);
	if (!*line)
		return -1;
	(*line)[strcspn(*line, "\r\n")] = '\0';
	return 0;
}

/* Resolves the path `said`, which is relative to the directory `from` or absolute, and returns the
 * path without links. Returns NULL if the path does not exist. The caller frees the result. */
static char *follow(const char *from, const char *said)
{
	autofree char *whole = *said == '/' ? strdup(said) : path_join(from, said, NULL);

	return whole ? realpath(whole, NULL) : NULL;
}

/* Returns the length in bytes of the path of the nearest directory that contains both `a` and `b`.
 * The length is 0 if this directory is "/". */
static size_t shared_length(const char *a, const char *b)
{
	size_t len = 0;

	for (size_t i = 0;; i++) {
		if ((!a[i] || a[i] == '/') && (!b[i] || b[i] == '/'))
			len = i;
		if (!a[i] || a[i] != b[i])
			return len;
	}
}

/* Returns the path `to` relative to the directory `from`, in the form of `git worktree add
 * --relative-paths`: first as many ".." as lead up to the nearest common directory, then the
 * components that lead down to `to`. Both paths must be without links. The caller frees the
 * result. */
static char *relative_path(const char *from, const char *to)
{
	autobuf struct buf out = BUF_INIT(0);
	size_t len = shared_length(from, to);

	for (const char *up = from + len; *up; up++)
		if (*up == '/' && buf_printf(&out, NULL, "../") < 0)
			return NULL;
	if (buf_printf(&out, NULL, "%s", to + len + (to[len] == '/')) < 0)
		return NULL;
	return buf_steal_string(&out, NULL);
}

/* Returns true if `said` is what git writes into a file of the directory `from` for `path`: the
 * absolute path, or the shortest relative path. Any other text has a link or an unnecessary "..",
 * so it could lead to another directory in the guest or later. */
static bool is_as_git_writes(const char *said, const char *from, const char *path)
{
	autofree char *relative = relative_path(from, path);

	return strcmp(said, path) == 0 || (relative && strcmp(said, relative) == 0);
}

/* Returns the path <common> of a path `gitdir` in the form <common>/worktrees/<name>, in which git
 * has the files of one worktree. Returns NULL if `gitdir` has another form. The caller frees the
 * result. */
static char *common_of(const char *gitdir)
{
	static const char worktrees[] = "/worktrees";
	size_t tail = strlen(worktrees);
	const char *name = strrchr(gitdir, '/');
	size_t len = name ? (size_t)(name - gitdir) : 0;

	if (len <= tail || strncmp(name - tail, worktrees, tail) != 0)
		return NULL;
	return strndup(gitdir, len - tail);
}

/* --- the paths in the repository -------------------------------------------------------------- */

/* Returns true if the files of the repository lead back to this worktree and to the common
 * directory. git writes the paths in both directions in the same form, absolute or relative, so
 * other combinations are refused. Otherwise a guest that has only the worktree could change the
 * form of the path in .git, and so choose where the repository appears in the guest. */
static bool leads_back(const char *real, const char *gitdir, bool absolute)
{
	autofree char *back = NULL;
	autofree char *up = NULL;
	autofree char *own = path_join(real, ".git", NULL);

	return own && read_line(gitdir, "gitdir", &back, NULL) == 0 && back &&
	       (*back == '/') == absolute && is_as_git_writes(back, gitdir, own) &&
	       read_line(gitdir, "commondir", &up, NULL) == 0 && up && strcmp(up, "../..") == 0;
}

static bool has_type(const char *dir, const char *name, mode_t type)
{
	autofree char *path = path_join(dir, name, NULL);
	struct stat st;

	return path && lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

/* Returns true if the directory is a repository (gitrepository-layout(5)). Without this check, any
 * directory with a subdirectory called worktrees could be taken for the common directory. */
static bool is_repository(const char *dir)
{
	return has_type(dir, "HEAD", S_IFREG) && has_type(dir, "objects", S_IFDIR) &&
	       has_type(dir, "refs", S_IFDIR);
}

/* --- the path in the guest -------------------------------------------------------------------- */

/* Returns the path to which `said` leads in a guest that has the worktree at `mountpoint`. `said`
 * is a path in the form that git writes. In "/", ".." leads to "/". The caller frees the result. */
static char *path_in_guest(const char *mountpoint, const char *said, struct error *err)
{
	autofree char *dir = path_clean(mountpoint, err);
	char *end;

	if (!dir)
		return NULL;
	for (; strncmp(said, "../", 3) == 0; said += 3)
		if ((end = strrchr(dir, '/')))
			*end = '\0';
	return path_join(*dir ? dir : "/", said, err);
}

/* Returns true if a path of the guest belongs to the operating system of the guest. If the
 * repository were mounted there, root of the guest would run files of the repository. */
static bool is_system_place(const char *place)
{
	static const char *const trees[] = {"/bin",   "/boot",	"/dev",	   "/etc",  "/lib",
					    "/lib32", "/lib64", "/libx32", "/proc", "/run",
					    "/sbin",  "/sys",	"/usr",	   "/var"};
	static const char *const alone[] = {"/",    "/home", "/media", "/mnt",
					    "/opt", "/root", "/srv",   "/tmp"};

	for (size_t i = 0; i < ARRAY_SIZE(trees); i++)
		if (path_is_below(place, trees[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(alone); i++)
		if (strcmp(place, alone[i]) == 0)
			return true;
	return false;
}

/* --- found ------------------------------------------------------------------------------------ */

int share_git_find(const char *dir, const char *mountpoint, struct share_git *out,
		   struct error *err)
{
	autofree char *line = NULL;
	const char *said;

	*out = (struct share_git){0};
	if (read_line(dir, ".git", &line, err) < 0)
		return -1;
	if (!line || strncmp(line, GITDIR, strlen(GITDIR)) != 0)
		return 0;
	said = line + strlen(GITDIR);
	autofree char *real = realpath(dir, NULL);
	autofree char *gitdir = real ? follow(real, said) : NULL;
	if (!gitdir)
		return 0; /* git does not work in this worktree on the host either */
	/* The gitdir is in the shared directory, so the guest could have made its contents. So the
	 * gitdir does not prove that directories outside belong to the worktree, and nothing is
	 * added. */
	if (path_is_below(gitdir, real))
		return 0;
	if (!is_as_git_writes(said, real, gitdir))
		return error_set(
			err, ERR_INVALID,
			"%.200s/.git leads to %.200s, which is %.200s, but git writes the path without links and without \"..\": the git repository is not shared; add it as a share of its own",
			dir, said, gitdir);
	autofree char *common = common_of(gitdir);
	autofree char *guest_gitdir = path_in_guest(mountpoint, said, err);
	autofree char *place = guest_gitdir ? common_of(guest_gitdir) : NULL;
	if (!common || !place || !leads_back(real, gitdir, *said == '/') || !is_repository(common))
		return error_set(
			err, ERR_INVALID,
			"%.200s/.git leads to %.200s, where no repository has this worktree: the git repository is not shared; add it as a share of its own, or share a directory that holds both",
			dir, said);
	/* An absolute path needs no check: it names the same directory in the guest as on the host,
	 * and a system directory of the host is never shared. */
	if (*said != '/' && is_system_place(place))
		return error_set(
			err, ERR_INVALID,
			"%.200s/.git leads to %.200s, which in the guest, seen from %.100s, is %.100s, a directory of the guest's own system: the git repository is not shared; choose another path in the guest for the worktree",
			dir, said, mountpoint, place);
	*out = (struct share_git){.common = steal_ptr(&common), .place = steal_ptr(&place)};
	return 0;
}

/* --- the other shares ------------------------------------------------------------------------- */

/* Returns true if the share already puts the common directory at the right path in the guest. */
static bool is_part_of(const struct share_git *git, const json_t *share)
{
	autofree char *dir = realpath(json_text(share, "path", ""), NULL);
	autofree char *at = path_clean(json_text(share, "mountpoint", ""), NULL);
	size_t len = at ? strlen(at) : 0;

	return dir && at && path_is_below(git->common, dir) && path_is_below(git->place, at) &&
	       strcmp(git->common + strlen(dir), git->place + len) == 0;
}

/* Returns true if one of the shares already contains the common directory. This happens if another
 * worktree of the same repository is shared, for which the directory was already added, or if the
 * main checkout is shared, which contains the directory. */
static bool is_there(const json_t *shares, const struct share_git *git)
{
	const json_t *share;
	size_t i;

	json_array_foreach(shares, i, share)
	{
		if (is_part_of(git, share))
			return true;
	}
	return false;
}

/* Checks that the common directory does not contain the shared directory `path`, and is not in it.
 * Otherwise the guest could write to files on which the host relies: it could make the path of the
 * common directory lead to another directory, or could have written the files by which the host
 * recognizes the common directory. */
static int check_apart(const struct spot *common, const char *path, const struct mountinfo *mounts,
		       struct error *err)
{
	auto_spot struct spot other = SPOT_NONE;
	int found = spot_find(path, mounts, &other, err);

	if (found <= 0 || spot_is(&other, common))
		return found < 0 ? -1 : 0;
	if (spot_holds(&other, common))
		return error_set(
			err, ERR_INVALID,
			"its .git leads to %.200s in the shared directory %.200s, where a guest could put another directory: the git repository is not shared separately; git in the guest finds it if %.200s is mounted where the path in .git leads to it",
			common->path, path, path);
	if (spot_holds(common, &other))
		return error_set(
			err, ERR_INVALID,
			"its .git leads to %.200s, which holds %.200s, a directory that is shared already: the git repository is not shared; share only one of the two",
			common->path, path);
	return 0;
}

static int check_all_apart(const json_t *shares, const char *common, struct error *err)
{
	auto_spot struct spot spot = SPOT_NONE;
	struct mountinfo mounts = {0};
	const json_t *share;
	int status;
	size_t i;

	if (mountinfo_read(&mounts, err) < 0)
		return -1;
	status = spot_find(common, &mounts, &spot, err);
	if (status == 0)
		status = error_set(
			err, ERR_NOT_FOUND,
			"the git repository %.200s was removed while microagent examined it, so it is not shared: put it back",
			common);
	for (i = 0; status > 0 && (share = json_array_get(shares, i)); i++)
		if (check_apart(&spot, json_text(share, "path", ""), &mounts, err) < 0)
			status = -1;
	mountinfo_free(&mounts);
	return status < 0 ? -1 : 0;
}

/* --- adding the directories ------------------------------------------------------------------- */

static json_t *common_share(json_t *share, const struct share_git *git, size_t number,
			    struct error *err)
{
	json_auto_t *own = json_copy(share);
	char tag[24];

	snprintf(tag, sizeof(tag), "git-%zu", number);
	if (json_put_string(own, "tag", tag, err) < 0)
		return NULL;
	/* git replaces a file in its common directory while it holds a lock file, and reads the
	 * file under this lock. If the guest caches names, it could read the old file after the
	 * host has replaced the file, and its next write would undo the host's change. */
	if (!json_object_get(own, "cache") && !json_object_get(own, "timeoutSeconds") &&
	    json_put_string(own, "cache", "none", err) < 0)
		return NULL;
	/* The directory at this path was checked. After the check, a guest that can write to a
	 * directory of the path could put a link there. So no link is followed when the path is
	 * opened. */
	if (json_put(own, "direct", json_true(), err) < 0 ||
	    json_put_string(own, "mountpoint", git->place, err) < 0)
		return NULL;
	if (json_put_string(own, "path", git->common, NULL) < 0) {
		error_set(
			err, ERR_INVALID,
			"%s is not UTF-8, and only paths in UTF-8 can be shared: rename the directory",
			git->common);
		return NULL;
	}
	return json_incref(own);
}

int share_git_add(json_t *shares, struct error *err)
{
	size_t count = json_array_size(shares), number = 0;

	for (size_t i = 0; i < count; i++) {
		json_t *share = json_array_get(shares, i);
		auto_share_git struct share_git git = {0};
		json_t *common;

		if (share_git_find(json_text(share, "path", ""), json_text(share, "mountpoint", ""),
				   &git, err) < 0)
			return error_prefix(err, "config.shares[%zu]", i);
		if (!git.common || is_there(shares, &git))
			continue;
		if (check_all_apart(shares, git.common, err) < 0)
			return error_prefix(err, "config.shares[%zu]", i);
		common = common_share(share, &git, ++number, err);
		if (!common)
			return -1;
		if (json_array_append_new(shares, common) < 0)
			return error_errno(err, ENOMEM, "share");
	}
	return 0;
}
