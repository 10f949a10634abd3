/* SPDX-License-Identifier: MIT */
#include "store/share/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/file.h"
#include "store/own_links.h"
#include "store/share/parts.h"

static int check_rights(const char *path, const struct spot *spot, bool read_only,
			struct error *err)
{
	if (spot->st.st_uid != geteuid())
		return error_set(
			err, ERR_DENIED,
			"%s is not yours (owner uid %u): copy what the task needs into a directory of yours and share that",
			path, (unsigned)spot->st.st_uid);
	if (faccessat(spot->fd, ".", R_OK | X_OK, 0) < 0)
		return error_errno(err, errno, "%s", path);
	if (!read_only && !(spot->st.st_mode & S_IWUSR))
		return error_set(
			err, ERR_DENIED,
			"%s is read-only: share it read-only (mode \"ro\"), or make it writable",
			path);
	/* On Linux, the host's process that serves the share is root only in its user namespace,
	 * which contains the user and the user's own group. So this process has root's rights only
	 * to files whose owner and group are both in the namespace. To a directory with another
	 * group, the process has only the rights of "other users". */
	if (!(spot->st.st_mode & S_IXOTH) && spot->st.st_gid != getegid())
		return error_set(
			err, ERR_DENIED,
			"%s is closed to other users, and its group is not your own group (%u): `chmod o+x` opens it for the program that serves the share",
			path, (unsigned)getegid());
	return 0;
}

static int open_share_dir(const struct share_wish *wish, struct error *err)
{
	const char *path = wish->path;
	struct error why = {0};
	autoclose int fd = wish->direct ? file_open_place_within(AT_FDCWD, path, FILE_BY_NO_LINK)
					: own_links_dir(path, &why);
	int errnum = wish->direct ? errno : why.errnum;
	struct stat st = {0};

	if (fd < 0 && errnum == ELOOP && wish->direct &&
	    (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode))) {
		/* If the path was refused because of a link of another user, the error of
		 * own_links_dir() says so, and is reported. */
		autoclose int followed = own_links_dir(path, &why);

		if (followed < 0 && why.code == ERR_DENIED && why.errnum == 0)
			return error_copy(err, &why);
		return error_set(
			err, ERR_INVALID,
			"a symbolic link is on the way to %s, and it is not followed, because a guest could have made it: name the directory without the link",
			path);
	}
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink > 0)
		return steal_fd(&fd);
	if (fd < 0 && why.code != ERR_NONE && errnum == 0)
		return error_copy(err, &why);
	if (fd < 0 && errnum == ENOENT)
		return error_set(err, ERR_NOT_FOUND, "%s does not exist: `mkdir` makes it", path);
	if (fd < 0 && (lstat(path, &st) < 0 || S_ISDIR(st.st_mode)))
		return error_errno(err, errnum, "%s", path);
	if (S_ISLNK(st.st_mode))
		return error_set(err, ERR_INVALID,
				 "%s is a symbolic link: name the directory itself", path);
	return error_set(err, ERR_INVALID,
			 "%s is not a directory: share the one that has the task's files", path);
}

bool share_is_within(const char *path, const json_t *shares)
{
	const json_t *share;
	size_t i;

	json_array_foreach(shares, i, share)
	{
		const char *dir = json_text(share, "path", "");
		size_t len = strlen(dir);

		while (len > 1 && dir[len - 1] == '/')
			len--;
		if (len > 1 && strcmp(json_text(share, "mode", "rw"), "ro") != 0 &&
		    strncmp(path, dir, len) == 0 && path[len] == '/')
			return true;
	}
	return false;
}

/* Opens the directory and applies the rules about its location. The caller closes *out. */
static int open_judged(const struct share_wish *wish, struct spot *out, struct error *err)
{
	auto_spot struct spot spot = SPOT_NONE;
	__attribute__((cleanup(share_looked_free))) struct share_looked looked = {0};
	struct mountinfo mounts = {0};
	const struct judge judge = {wish, &spot, &mounts, &looked};
	int fd = open_share_dir(wish, err);
	int status;

	if (fd < 0)
		return -1;
	if (mountinfo_read(&mounts, err) < 0) {
		close(fd);
		return -1;
	}
	status = spot_make(fd, &mounts, &spot, err);
	if (status == 0 &&
	    (share_rules_system(&judge, err) < 0 || share_rules_homes(&judge, err) < 0 ||
	     share_rules_own(&judge, err) < 0 || share_rules_keys(&judge, err) < 0))
		status = -1;
	mountinfo_free(&mounts);
	if (status < 0)
		return -1;
	*out = spot;
	spot = (struct spot)SPOT_NONE;
	return 0;
}

int share_open_allowed(const struct share_wish *wish, struct error *err)
{
	auto_spot struct spot spot = SPOT_NONE;

	if (open_judged(wish, &spot, err) < 0 ||
	    check_rights(wish->path, &spot, wish->read_only, err) < 0)
		return -1;
	return steal_fd(&spot.fd);
}

int share_open_to_copy(const struct share_wish *wish, struct error *err)
{
	auto_spot struct spot spot = SPOT_NONE;
	int fd;

	if (open_judged(wish, &spot, err) < 0)
		return -1;
	fd = openat(spot.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? error_errno(err, errno, "%s", wish->path) : fd;
}
