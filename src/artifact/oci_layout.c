/* SPDX-License-Identifier: MIT */
#include "artifact/oci_layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/tool.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"

/* Checks that a file has the type `kind`. A missing file is not an error. A link is refused,
 * because whoever made the layout could let the link lead to any file of the host. */
static int check_kind(int dirfd, const char *within, const char *name, mode_t kind,
		      struct error *err)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s%s", within, name);
	if ((st.st_mode & S_IFMT) == kind)
		return 0;
	return error_set(err, ERR_INVALID,
			 "%s%s is not a %s, so the image is damaged: fetch or make the image again",
			 within, name, kind == S_IFDIR ? "directory" : "regular file");
}

/* Where files are copied to. */
struct copy {
	int dir; /* descriptor of the target directory; -1: nothing is copied */
	uint64_t room, left;
};

/* Checks and copies an open file. Because the file is open, no other process can replace it between
 * the check and the copy. */
static int copy_opened(int from, const char *name, const char *shown, struct copy *copy,
		       struct error *err)
{
	struct stat st;

	if (fstat(from, &st) < 0)
		return error_errno(err, errno, "%s", shown);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"%s is not a regular file, so the image is damaged: fetch or make the image again",
			shown);
	if ((uint64_t)st.st_size > copy->left)
		return tool_room_exceeded(copy->room, err);
	copy->left -= (uint64_t)st.st_size;
	return path_clone_file_at(from, copy->dir, name, 0600, NULL, err);
}

static int copy_file(int dirfd, const char *within, const char *name, struct copy *copy,
		     struct error *err)
{
	autoclose int from =
		openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char shown[600];

	snprintf(shown, sizeof(shown), "%s%s", within, name);
	if (from < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", shown);
	return copy_opened(from, name, shown, copy, err);
}

static int make_dir(struct copy *above, const char *name, struct copy *out, struct error *err)
{
	*out = *above;
	if (above->dir < 0)
		return 0;
	out->dir = path_open_dir_at(above->dir, name, true, 0700, err);
	return out->dir < 0 ? -1 : 0;
}

/* Checks the files in "blobs/" and in its subdirectories, such as "blobs/sha256/". Also copies them
 * if `copy` has a target directory. *left is the number of files that the layout may still have. */
static int take_blobs(int dirfd_above, const char *name, const char *within, mode_t kind,
		      uint64_t *left, struct copy *copy, struct error *err)
{
	autoclose int fd =
		openat(dirfd_above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autodir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	char deeper[300];

	if (!dir)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", within);
	steal_fd(&fd);
	while ((errno = 0, entry = readdir(dir))) {
		struct copy below = {.dir = -1};
		int status;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if ((*left)-- == 0)
			return error_set(
				err, ERR_INVALID,
				"%s has more files than the directory of an image may have: give a directory that has only the image",
				within);
		if (check_kind(dirfd(dir), within, entry->d_name, kind, err) < 0)
			return -1;
		if (kind != S_IFDIR) {
			if (copy->dir >= 0 &&
			    copy_file(dirfd(dir), within, entry->d_name, copy, err) < 0)
				return -1;
			continue;
		}
		snprintf(deeper, sizeof(deeper), "%s%s/", within, entry->d_name);
		if (make_dir(copy, entry->d_name, &below, err) < 0)
			return -1;
		status = take_blobs(dirfd(dir), entry->d_name, deeper, S_IFREG, left, &below, err);
		copy->left = below.left;
		cleanup_close(&below.dir);
		if (status < 0)
			return -1;
	}
	return errno ? error_errno(err, errno, "%s", within) : 0;
}

static int take_layout(const char *path, struct copy *copy, struct error *err)
{
	static const char *const files[] = {"oci-layout", "index.json"};
	autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t left = limit_get(LIMIT_IMAGE_BLOBS);
	struct copy blobs = {.dir = -1};
	int status;

	if (dir < 0)
		return error_errno(err, errno, "%s", path);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (check_kind(dir, "", files[i], S_IFREG, err) < 0 ||
		    (copy->dir >= 0 && copy_file(dir, "", files[i], copy, err) < 0))
			return -1;
	if (check_kind(dir, "", "blobs", S_IFDIR, err) < 0 ||
	    make_dir(copy, "blobs", &blobs, err) < 0)
		return -1;
	status = take_blobs(dir, "blobs", "blobs/", S_IFDIR, &left, &blobs, err);
	cleanup_close(&blobs.dir);
	return status;
}

int oci_layout_check(const char *path, struct error *err)
{
	struct copy none = {.dir = -1};

	return take_layout(path, &none, err);
}

int oci_layout_copy(const char *path, int dirfd, const char *name, uint64_t room, struct error *err)
{
	autoclose int dir = path_open_dir_at(dirfd, name, true, 0700, err);
	struct copy copy = {.dir = dir, .room = room, .left = room};

	return dir < 0 ? -1 : take_layout(path, &copy, err);
}

int oci_archive_copy(const char *path, int dirfd, const char *name, uint64_t room,
		     struct error *err)
{
	autoclose int from = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct copy copy = {.dir = dirfd, .room = room, .left = room};

	return from < 0 ? error_errno(err, errno, "%s", path)
			: copy_opened(from, name, path, &copy, err);
}
