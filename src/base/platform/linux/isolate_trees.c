/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/platform/linux/isolate.h"

#define ROOT_NAME "microagent"
#define OWN_FDS "/proc/self/fd"
#define TREES_MAX 8
#ifndef MS_NOSYMFOLLOW
#define MS_NOSYMFOLLOW 256
#endif
#define NO_SYMLINKS 0x2000ul /* ST_NOSYMFOLLOW, which the C library does not define */

struct clones {
	const struct isolate_reach *reach;
	int fds[TREES_MAX]; /* for each tree a descriptor of its cloned mount, which is not yet
			     * attached to a directory */
};

static bool is_one_file(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

/* Returns a clone of the tree's mount, or -1. The clone is made by the path of the tree, because
 * the descriptor belongs to a mount outside of this process's namespace. Fails with ERR_CONFLICT if
 * the path now names another file. */
static int clone_tree(const struct isolate_tree *tree, struct error *err)
{
	char link[32], name[PATH_MAX] = "";

	snprintf(link, sizeof(link), OWN_FDS "/%d", tree->fd);
	if (readlink(link, name, sizeof(name) - 1) < 0)
		return error_errno(err, errno, "%s", tree->path);
	autoclose int fd = open_tree(AT_FDCWD, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (fd < 0)
		return error_errno(err, errno, "%s", name);
	if (!is_one_file(fd, tree->fd))
		return error_set(err, ERR_CONFLICT, "%s was replaced", name);
	return steal_fd(&fd);
}

static int make_place(const char *path, struct error *err)
{
	autofree char *copy = strdup(path);

	if (!copy)
		return error_errno(err, ENOMEM, "%s", path);
	for (char *at = copy; at; at = strchr(at + 1, '/')) {
		char was = *at;

		*at = '\0';
		if (*copy && mkdir(copy, 0755) < 0 && errno != EEXIST)
			return error_errno(err, errno, "place for %s", path);
		*at = was;
	}
	return mkdir(path, 0755) < 0 && errno != EEXIST
		       ? error_errno(err, errno, "place for %s", path)
		       : 0;
}

/* Mounts the clone of a tree below the working directory, at the path of the tree. */
static int plant_tree(const struct isolate_tree *tree, int clone, struct error *err)
{
	const char *place = tree->path + strspn(tree->path, "/");
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOSYMFOLLOW |
			      (tree->executable ? 0 : MS_NOEXEC);
	struct statvfs fs;

	if (make_place(place, err) < 0)
		return -1;
	if (move_mount(clone, "", AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    mount(NULL, place, NULL, MS_PRIVATE, NULL) < 0 || statvfs(place, &fs) < 0)
		return error_errno(err, errno, "mount %s", tree->path);
	if (!tree->writable || fs.f_flag & ST_RDONLY)
		flags |= MS_RDONLY;
	if (mount(NULL, place, NULL, flags, NULL) < 0 || statvfs(place, &fs) < 0)
		return error_errno(err, errno, "mount %s", tree->path);
	/* A kernel before 5.10 ignores MS_NOSYMFOLLOW, so the flags of the mount are checked. */
	return fs.f_flag & NO_SYMLINKS
		       ? 0
		       : error_set(
				 err, ERR_UNAVAILABLE,
				 "this kernel cannot mount a directory so that links in it are not followed: boot this host with Linux 5.10 or newer");
}

static int plant_trees(void *data, struct error *err)
{
	const struct clones *clones = data;

	for (size_t i = 0; i < clones->reach->tree_count; i++)
		if (plant_tree(&clones->reach->trees[i], clones->fds[i], err) < 0)
			return -1;
	return 0;
}

static int enter_new_root(const struct isolate_reach *reach, struct error *err)
{
	struct clones clones = {.reach = reach};
	size_t made = 0;
	int rc = 0;

	if ((geteuid() != 0 || isolate_mounts(false, NULL) < 0) && isolate_mounts(true, err) < 0)
		return -1;
	while (rc == 0 && made < reach->tree_count) {
		clones.fds[made] = clone_tree(&reach->trees[made], err);
		rc = clones.fds[made] < 0 ? -1 : 0;
		made += rc == 0;
	}
	if (rc == 0)
		rc = isolate_root(ROOT_NAME, plant_trees, &clones, err);
	while (made > 0)
		close(clones.fds[--made]);
	return rc;
}

/* --- open directories ------------------------------------------------------------------------- */

static int replace_directories(DIR *fds, const struct isolate_reach *reach, struct error *err)
{
	const struct dirent *entry;
	struct stat st;

	while ((entry = readdir(fds))) {
		int fd = (int)strtol(entry->d_name, NULL, 10), flags, own;
		const char *path = NULL;

		if (*entry->d_name == '.' || fd == dirfd(fds) || fstat(fd, &st) < 0 ||
		    !S_ISDIR(st.st_mode))
			continue;
		for (size_t i = 0; i < reach->tree_count && !path; i++)
			if (is_one_file(reach->trees[i].fd, fd))
				path = reach->trees[i].path;
		if (!path)
			path = "/";
		flags = fcntl(fd, F_GETFL);
		own = fcntl(fd, F_GETFD);
		autoclose int next = open(path, O_DIRECTORY | O_CLOEXEC | (flags & O_PATH));
		if (next < 0 || dup3(next, fd, own & FD_CLOEXEC ? O_CLOEXEC : 0) < 0)
			return error_errno(err, errno, "%s anew", path);
	}
	return 0;
}

/* --- the new root ----------------------------------------------------------------------------- */

static int make_trees(const struct isolate_reach *reach, struct error *err)
{
	autodir DIR *fds = opendir(OWN_FDS);

	if (!fds || reach->tree_count > TREES_MAX)
		return error_errno(err, fds ? E2BIG : errno, OWN_FDS);
	return enter_new_root(reach, err) < 0 ? -1 : replace_directories(fds, reach, err);
}

int isolate_trees_try(const struct isolate_reach *reach, struct error *err)
{
	struct error why = {0};
	int ends[2], status;

	if (fd_pipe(ends, err) < 0)
		return -1;
	autoclose int from = ends[0];
	autoclose int to = ends[1];
	pid_t pid = fork();

	if (pid == 0) {
		(void)make_trees(reach, &why);
		(void)!write(to, &why, sizeof(why));
		_exit(0);
	}
	close(steal_fd(&to));
	if (pid < 0 || fd_read_exact(from, &why, sizeof(why), NULL) < 0)
		error_set(
			&why, ERR_IO,
			"the process that tries it could not be started, or ended without a report");
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (why.code == ERR_NONE)
		return 0;
	return error_set(err, ERR_UNAVAILABLE,
			 "the supervisor cannot get a root directory of its own: %s", why.msg);
}

int isolate_trees(const struct isolate_reach *reach, struct error *err)
{
	return isolate_trees_try(reach, err) < 0 ? -1 : make_trees(reach, err);
}

const char *isolate_files_name(bool root, bool landlock)
{
	if (root)
		return landlock ? "root-landlock" : "root";
	return landlock ? "landlock" : "open";
}
