/* SPDX-License-Identifier: MIT */
#include "guest/machine/review.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "guest/files/walk.h"

#define FLAGS (MS_NOSUID | MS_NODEV)
/* The names of an upper layer while it is made, and before it is removed. */
#define NEW_UPPER "upper.new"
#define ASIDE ".gone-"

/*
 * The options of the overlay beside its layers. With redirect_dir a directory of the lower layer
 * is renamed and not copied. With index and metacopy the upper layer would refer to the inodes of
 * the lower layer and lack contents, so that it could not be read alone. With xino a file keeps its
 * inode number when it is first changed, so that git need not read it again. Every kernel with
 * openat2(), without which this program does not run, knows these options.
 */
#define OPTIONS "redirect_dir=on,index=off,metacopy=off,xino=auto"

/* A directory of this program's, and its path without links. */
struct layer {
	int fd;
	char path[PATH_MAX];
};

/* Opens the directory `id` in the directory `parent`. Makes both if they are missing, for root
 * alone. */
static int open_layer(const char *parent, const char *id, struct layer *out, struct error *err)
{
	struct walked found;
	int len;

	if (walk_mountpoint(parent, &found, err) < 0)
		return -1;
	autoclose int above = found.fd;
	if (file_change_mode(above, 0700) < 0)
		return error_errno(err, errno, "%s", parent);
	len = snprintf(out->path, sizeof(out->path), "%s/%s", found.path, id);
	if (len < 0 || (size_t)len >= sizeof(out->path))
		return error_errno(err, ENAMETOOLONG, "%s", parent);
	out->fd = path_open_dir_at(above, id, true, 0700, err);
	return out->fd < 0 ? -1 : 0;
}

int review_make_upper(int dir, const struct stat *lower, struct error *err)
{
	struct stat st;

	if (fstatat(dir, "upper", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return S_ISDIR(st.st_mode) ? 0 : error_errno(err, ENOTDIR, "upper");
	if (path_remove_tree_at(dir, NEW_UPPER, err) < 0)
		return -1;
	autoclose int made = path_open_dir_at(dir, NEW_UPPER, true, 0700, err);
	if (made < 0)
		return -1;
	if (fchown(made, lower->st_uid, lower->st_gid) < 0 ||
	    fchmod(made, lower->st_mode & 07777) < 0 || renameat(dir, NEW_UPPER, dir, "upper") < 0)
		return error_errno(err, errno, "upper");
	return 0;
}

static int mount_overlay(const char *lower, const char *id, const char *mountpoint,
			 struct error *err)
{
	char options[3 * PATH_MAX + 128];
	struct layer upper = {.fd = -1};
	struct stat st;
	int len;

	if (open_layer(REVIEW_UPPERS, id, &upper, err) < 0)
		return -1;
	autoclose int dir = upper.fd;
	if (stat(lower, &st) < 0)
		return error_errno(err, errno, "%s", lower);
	if (review_make_upper(dir, &st, err) < 0)
		return -1;
	if (mkdirat(dir, "work", 0700) < 0 && errno != EEXIST)
		return error_errno(err, errno, "work");
	len = snprintf(options, sizeof(options),
		       "lowerdir=%s,upperdir=%s/upper,workdir=%s/work," OPTIONS, lower, upper.path,
		       upper.path);
	if (len < 0 || (size_t)len >= sizeof(options))
		return error_errno(err, ENAMETOOLONG, "%s", upper.path);
	if (mount("overlay", mountpoint, "overlay", FLAGS, options) == 0)
		return 0;
	if (errno == ENODEV)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the guest's kernel has no overlayfs: choose a kernel that has it, such as one of Debian's");
	return error_errno(err, errno, "overlayfs");
}

int review_mount(const char *device, const struct config_disk *disk, const char *mountpoint,
		 char **lower, struct error *err)
{
	struct layer layer = {.fd = -1};
	autofree char *path = NULL;
	char place[32];

	if (open_layer(REVIEW_LOWERS, disk->upper, &layer, err) < 0)
		return error_prefix(err, "review share \"%s\"", disk->name);
	autoclose int dir = layer.fd;
	path = strdup(layer.path);
	if (!path)
		return error_errno(err, ENOMEM, "mounts");
	snprintf(place, sizeof(place), "/proc/self/fd/%d", dir);
	if (mount(device, place, "ext4", FLAGS | MS_RDONLY, "noload") < 0) {
		error_errno(err, errno, "cannot mount the disk of the review share \"%s\" as ext4",
			    disk->name);
		(void)rmdir(path);
		return -1;
	}
	if (mount_overlay(path, disk->upper, mountpoint, err) < 0) {
		(void)umount2(path, MNT_DETACH);
		(void)rmdir(path);
		return error_prefix(err, "cannot mount the review share \"%s\" on %s", disk->name,
				    disk->mountpoint);
	}
	*lower = steal_ptr(&path);
	return 0;
}

/* --- upper layers that no share has any more ------------------------------------------------- */

static bool is_aside(const char *name)
{
	return strncmp(name, ASIDE, strlen(ASIDE)) == 0;
}

/* Opens a directory once more, to read its entries. */
static DIR *open_entries(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && !entries)
		close(fd);
	return entries;
}

bool review_set_aside(int uppers, int lowers)
{
	autodir DIR *entries = open_entries(uppers);
	const struct dirent *entry;
	bool any = false;

	while (entries && (entry = readdir(entries))) {
		char aside[sizeof(ASIDE) + NAME_MAX];
		struct stat st;

		any = any || is_aside(entry->d_name);
		if (!config_is_upper(entry->d_name) ||
		    fstatat(lowers, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
		    errno != ENOENT)
			continue;
		snprintf(aside, sizeof(aside), ASIDE "%s", entry->d_name);
		if (renameat(uppers, entry->d_name, uppers, aside) == 0)
			any = true;
	}
	return any;
}

void review_remove_aside(int uppers)
{
	autodir DIR *entries = open_entries(uppers);
	const struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (is_aside(entry->d_name))
			(void)path_remove_tree_at(uppers, entry->d_name, NULL);
}

void review_forget_unused(void)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	autoclose int uppers = open(REVIEW_UPPERS, flags);
	autoclose int lowers = uppers >= 0 ? open(REVIEW_LOWERS, flags) : -1;

	/* The directory of the lower layers is made with the first lower layer of this boot. If it is
	 * missing, it is not known which upper layers are in use. */
	if (lowers < 0 || !review_set_aside(uppers, lowers) || fork() != 0)
		return;
	/* The caller's caller waits for the end of a pipe, which must not stay open here. */
	fd_close_others(&uppers, 1);
	review_remove_aside(uppers);
	_exit(0);
}
