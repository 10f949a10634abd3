/* SPDX-License-Identifier: MIT */
#include "artifact/oci_layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"

/* A link is no file either: who made the layout would choose what it leads to. */
static int check_kind(int dirfd, const char *within, const char *name, mode_t kind,
		      struct error *err)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s%s", within, name);
	if ((st.st_mode & S_IFMT) == kind)
		return 0;
	return error_set(err, ERR_INVALID, "%s%s is no %s", within, name,
			 kind == S_IFDIR ? "directory" : "regular file");
}

/* Those in "blobs/", and in each directory there: "blobs/sha256/". There may be *left. */
static int check_blobs(int dirfd_above, const char *name, const char *within, mode_t kind,
		       uint64_t *left, struct error *err)
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
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if ((*left)-- == 0)
			return error_set(err, ERR_INVALID, "%s has too many files", within);
		if (check_kind(dirfd(dir), within, entry->d_name, kind, err) < 0)
			return -1;
		if (kind != S_IFDIR)
			continue;
		snprintf(deeper, sizeof(deeper), "%s%s/", within, entry->d_name);
		if (check_blobs(dirfd(dir), entry->d_name, deeper, S_IFREG, left, err) < 0)
			return -1;
	}
	return errno ? error_errno(err, errno, "%s", within) : 0;
}

int oci_layout_check(const char *path, struct error *err)
{
	autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t left = limit_get(LIMIT_IMAGE_BLOBS);

	if (dir < 0)
		return error_errno(err, errno, "%s", path);
	if (check_kind(dir, "", "oci-layout", S_IFREG, err) < 0 ||
	    check_kind(dir, "", "index.json", S_IFREG, err) < 0 ||
	    check_kind(dir, "", "blobs", S_IFDIR, err) < 0)
		return -1;
	return check_blobs(dir, "blobs", "blobs/", S_IFDIR, &left, err);
}
