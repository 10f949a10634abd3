/* SPDX-License-Identifier: MIT */
#include "store/share_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "store/share_rules.h"

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

int share_dir_open(const struct share_wish *wish, struct error *err)
{
	auto_spot struct spot spot = SPOT_NONE;
	struct mountinfo mounts = {0};
	const struct judge judge = {wish, &spot, &mounts};
	int fd = open_share_dir(wish->path, err);
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
	if (status < 0 || check_rights(wish->path, &spot, wish->read_only, err) < 0)
		return -1;
	return steal_fd(&spot.fd);
}

/* --- passes ---------------------------------------------------------------------------------- */

#define SEALED (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)
#define PASS_MAX 16384

static json_t *pass_json(const struct share_wish *wish, const struct stat *st)
{
	return json_pack("{s:s, s:I, s:I, s:b, s:b}", "path", wish->path, "device",
			 (json_int_t)st->st_dev, "inode", (json_int_t)st->st_ino, "readOnly",
			 wish->read_only, "anyway", wish->anyway);
}

int share_dir_pass(const struct share_wish *wish, struct error *err)
{
	autoclose int dir = share_dir_open(wish, err);
	struct stat st;

	if (dir < 0)
		return -1;
	if (fstat(dir, &st) < 0)
		return error_errno(err, errno, "%s", wish->path);
	json_auto_t *pass = pass_json(wish, &st);
	autofree char *text = pass ? json_line(pass, err) : NULL;
	autoclose int fd = memfd_create("share", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (!text)
		return error_set(err, ERR_INVALID, "%s: a path must be UTF-8", wish->path);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    fcntl(fd, F_ADD_SEALS, SEALED) < 0)
		return error_errno(err, errno, "pass for %s", wish->path);
	return steal_fd(&fd);
}

/* One that can still be written may come from whoever was to hand it on only. */
static json_t *read_pass(int fd)
{
	char text[PASS_MAX];
	int seals = fcntl(fd, F_GET_SEALS);
	ssize_t n = seals >= 0 && (seals & SEALED) == SEALED ? pread(fd, text, sizeof(text), 0) : 0;

	return n > 0 ? json_load_strict(text, (size_t)n, NULL) : NULL;
}

int share_dir_redeem(int fd, const struct share_wish *base, struct error *err)
{
	struct share_wish wish = *base;
	json_auto_t *pass = read_pass(fd);
	json_int_t device, inode;
	int ro, anyway;
	struct stat st;

	if (!pass || json_unpack(pass, "{s:s, s:I, s:I, s:b, s:b}", "path", &wish.path, "device",
				 &device, "inode", &inode, "readOnly", &ro, "anyway", &anyway) < 0)
		return error_set(err, ERR_DENIED, "no directory was given to be shared");
	if (ro && !wish.read_only)
		return error_set(err, ERR_DENIED, "%s was given to be read and not written",
				 wish.path);
	wish.anyway = anyway;
	autoclose int dir = share_dir_open(&wish, err);
	if (dir < 0)
		return -1;
	if (fstat(dir, &st) < 0 || (json_int_t)st.st_dev != device ||
	    (json_int_t)st.st_ino != inode)
		return error_set(err, ERR_CONFLICT, "%s is not what it was", wish.path);
	return steal_fd(&dir);
}
