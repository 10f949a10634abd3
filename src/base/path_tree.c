/* SPDX-License-Identifier: MIT */
/*
 * Removes a tree of directories that another user may have made.
 *
 * Every step is relative to a descriptor opened with O_NOFOLLOW, so no link is ever followed, not
 * even one that replaces a directory during the work. Mounts are not entered. With FILE_ON_DISK the
 * kernel refuses to enter them, even bind mounts. If the kernel cannot do this, only the device
 * numbers are compared, which shows no bind mounts.
 *
 * One descriptor is open for each level, and a tree may have more levels than the number of
 * descriptors that this process may open. So a directory deeper than MAX_LEVEL is moved up to the
 * top of the tree, and the next pass removes it there.
 *
 * If a file cannot be removed, everything else is still removed, and the first error is reported.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "base/platform/system.h"

#define MAX_LEVEL 32
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct removal {
	int top;    /* the descriptor of the top directory of the tree that is removed; -1 while it
		     * is being opened */
	dev_t dev;  /* the device number of the file system of `top` */
	bool again; /* a directory was moved to the top, so one more pass is needed */
	bool failed;
	struct error *err; /* where the first error is stored */
};

static void tree_failed(struct removal *r, int errnum, const char *name)
{
	if (!r->failed && errnum == EXDEV)
		error_set(r->err, ERR_CONFLICT,
			  "%s is not removed, because it is a mount point: unmount it first", name);
	else if (!r->failed)
		error_errno(r->err, errnum, "remove %s", name);
	r->failed = true;
}

/* Opens a directory. The top directory may be a mount; below it no mount is entered. */
static int open_inside(const struct removal *r, int dir, const char *name)
{
	int fd = r->top < 0 ? openat(dir, name, DIR_FLAGS)
			    : file_open_within(dir, name, DIR_FLAGS, FILE_ON_DISK);

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return openat(dir, name, DIR_FLAGS);
	return fd;
}

/* Opens a directory and gives this user all permissions on it, so that it can be emptied. Returns
 * -1 with errno; EXDEV if the directory is on another file system. */
static int open_to_empty(const struct removal *r, int dir, const char *name)
{
	autoclose int fd = open_inside(r, dir, name);
	struct stat st;

	/* If this user owns the directory but may not list it, file_unlock_dir() first gives its
	 * owner all permissions. */
	if (fd < 0 && errno == EACCES && file_unlock_dir(dir, name, S_IRWXU, r->top >= 0) == 0)
		fd = open_inside(r, dir, name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (st.st_dev != r->dev) {
		errno = EXDEV;
		return -1;
	}
	/* If fchmod() fails, the removal of the directory's entries fails too, and that failure is
	 * reported. */
	if ((st.st_mode & S_IRWXU) != S_IRWXU)
		(void)!fchmod(fd, S_IRWXU);
	return steal_fd(&fd);
}

static void empty_dir(struct removal *r, int fd, int level);

static void remove_dir(struct removal *r, int dir, const char *name, int level)
{
	char moved[32];
	uint64_t random;

	if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return;
	if (level >= MAX_LEVEL) {
		if (random_bytes(&random, sizeof(random), NULL) < 0) {
			tree_failed(r, errno, name);
			return;
		}
		snprintf(moved, sizeof(moved), ".gone-%016llx", (unsigned long long)random);
		if (renameat(dir, name, r->top, moved) < 0)
			tree_failed(r, errno, name);
		else
			r->again = true;
		return;
	}
	int fd = open_to_empty(r, dir, name);
	if (fd < 0) {
		if (errno != ENOENT) /* the directory is already gone if another process removes the
				      * same tree */
			tree_failed(r, errno, name);
		return;
	}
	empty_dir(r, fd, level + 1);
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		tree_failed(r, errno, name);
}

static void remove_entry(struct removal *r, int dir, const char *name, int level)
{
	struct stat st;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return;
	int why = errno;
	/* That the name is a directory is checked only after unlinkat(). This order is safe:
	 * unlinkat() fails for a directory, or on some systems removes an empty directory. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		remove_dir(r, dir, name, level);
	else
		tree_failed(r, why, name);
}

/* Empties a directory. Closes `fd`. */
static void empty_dir(struct removal *r, int fd, int level)
{
	autodir DIR *d = fdopendir(fd);
	const struct dirent *entry;

	if (!d) {
		tree_failed(r, errno, "directory");
		close(fd);
		return;
	}
	while ((errno = 0, entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_entry(r, dirfd(d), entry->d_name, level);
	if (errno)
		tree_failed(r, errno, "directory");
}

int path_remove_tree_at(int dirfd, const char *name, struct error *err)
{
	struct removal r = {.top = -1, .err = err};
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "remove %s", name);
	if (!S_ISDIR(st.st_mode)) {
		if (unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
			return error_errno(err, errno, "remove %s", name);
		return 0;
	}
	r.dev = st.st_dev;
	autoclose int top = open_to_empty(&r, dirfd, name);
	if (top < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "remove %s", name);
	r.top = top;
	/* Each pass makes every branch shorter by MAX_LEVEL levels, so the number of passes is
	 * finite. */
	do {
		int fd = openat(top, ".", DIR_FLAGS);

		r.again = false;
		if (fd < 0)
			tree_failed(&r, errno, ".");
		else
			empty_dir(&r, fd, 0);
	} while (r.again && !r.failed);
	if (r.failed)
		return error_prefix(err, "%s", name);
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_errno(err, errno, "remove %s", name);
	return 0;
}
