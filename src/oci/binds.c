/* SPDX-License-Identifier: MIT */
#include "oci/binds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int binds_open(const char *share, struct error *err)
{
	if (path_make_dirs(share, 0700, err) < 0)
		return -1;
	if (mount(share, share, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, share, NULL, MS_SHARED, NULL) < 0)
		return error_errno(err, errno, "%s", share);
	return 0;
}

/* Clones the mounts at `source`. A clone gets later mounts from the source (MS_SLAVE), unless the
 * clone must not get them (MS_PRIVATE). Afterwards the clone becomes shared (MS_SHARED), so that
 * the machine's virtiofsd gets the clone's later mounts. Only this last step sets nosuid, nodev and
 * read-only. A private clone gets no mounts before that step, so all mounts in it have these
 * attributes. */
static int clone_source(int source, const struct bind_options *options, struct error *err)
{
	bool apart = options->kind == BIND_VOLUME_APART || options->read_only;
	struct mount_attr first = {.propagation = apart ? MS_PRIVATE : MS_SLAVE};
	struct mount_attr shared = {.propagation = MS_SHARED};
	autoclose int tree = open_tree(source, "",
				       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
					       (options->recursive ? AT_RECURSIVE : 0));

	if (options->kind != BIND_ROOT)
		shared.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	if (options->read_only)
		shared.attr_set |= MOUNT_ATTR_RDONLY;
	if (tree < 0 ||
	    mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &first, sizeof(first)) < 0 ||
	    mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &shared, sizeof(shared)) < 0)
		return error_errno(err, errno, "cannot be mounted");
	return steal_fd(&tree);
}

static int make_bind_place(const char *path, bool directory, struct error *err)
{
	if (directory)
		return mkdir(path, 0755) == 0 || errno == EEXIST
			       ? 0
			       : error_errno(err, errno, "%s", path);
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd >= 0 ? 0 : error_errno(err, errno, "%s", path);
}

int binds_add(const char *share, const char *guest, const char *name, int source,
	      const struct bind_options *options, struct error *err)
{
	char dir[PATH_MAX], path[PATH_MAX];
	struct stat st;

	if (fstat(source, &st) < 0)
		return error_errno(err, errno, "source");
	if ((size_t)snprintf(dir, sizeof(dir), "%s/%s", share, guest) >= sizeof(dir) ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
		return error_errno(err, ENAMETOOLONG, "%.300s", share);
	if (make_bind_place(dir, true, err) < 0)
		return -1;
	autoclose int tree = clone_source(source, options, err);
	if (tree < 0 || make_bind_place(path, S_ISDIR(st.st_mode), err) < 0)
		return -1;
	if (move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return error_errno(err, errno, "cannot be mounted");
	return 0;
}

void binds_remove(const char *share, const char *guest)
{
	char place[PATH_MAX], mounted[PATH_MAX];
	const struct dirent *entry;

	if ((size_t)snprintf(place, sizeof(place), "%s/%s", share, guest) >= sizeof(place))
		return;
	autodir DIR *dir = opendir(place);
	while (dir && (entry = readdir(dir))) {
		if (is_dots(entry->d_name) ||
		    (size_t)snprintf(mounted, sizeof(mounted), "%s/%s", place, entry->d_name) >=
			    sizeof(mounted))
			continue;
		(void)umount2(mounted, MNT_DETACH | UMOUNT_NOFOLLOW);
		/* Removes only empty directories. If a clone could not be unmounted, the directory
		 * still shows the engine's files, which must stay. */
		if (unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) < 0 && errno == ENOTDIR)
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
	(void)rmdir(place);
}

void binds_close(const char *share)
{
	const struct dirent *entry;

	(void)umount2(share, MNT_DETACH | UMOUNT_NOFOLLOW);
	autodir DIR *dir = opendir(share);
	while (dir && (entry = readdir(dir)))
		if (!is_dots(entry->d_name))
			binds_remove(share, entry->d_name);
	(void)rmdir(share);
}
