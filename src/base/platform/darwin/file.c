/* SPDX-License-Identifier: MIT */
/* Files on APFS. This file was compiled and linked for macOS, but never run there. The facts in
 * this file are from open(2), clonefile(2), rename(2) and fcntl(2). */
#include "base/platform/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/clonefile.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/system.h"

struct timespec file_modified(const struct stat *st)
{
	return st->st_mtimespec;
}

struct timespec file_changed(const struct stat *st)
{
	return st->st_ctimespec;
}

int file_rename_new(int old_dir, const char *old, int new_dir, const char *new_name)
{
	return renameatx_np(old_dir, old, new_dir, new_name, RENAME_EXCL);
}

static int fail_with(int errnum)
{
	errno = errnum;
	return -1;
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool is_of_disk(int fd, dev_t dev)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == dev;
}

/* Opens one component of a path. Fails if the component is a symbolic link, or is not on the disk
 * `dev`. */
static int open_step(int dir, const char *name, int flags, dev_t dev)
{
	autoclose int fd = openat(dir, name, flags | O_NOFOLLOW);

	if (fd < 0)
		return -1;
	return is_of_disk(fd, dev) ? steal_fd(&fd) : fail_with(EXDEV);
}

/* Opens a path component by component, because no single call of macOS refuses symbolic links, ".."
 * and other disks. */
static int open_below(int dirfd, const char *path, int flags)
{
	autoclose int at = -1;
	struct stat top;
	char name[NAME_MAX + 1];

	if (*path == '/' || fstat(dirfd, &top) < 0)
		return fail_with(*path == '/' ? EXDEV : errno);
	for (;;) {
		size_t len = strcspn(path, "/");
		const char *rest = path + len + strspn(path + len, "/");
		int from = at < 0 ? dirfd : at, next;

		if (len == 0 || len > NAME_MAX)
			return fail_with(len ? ENAMETOOLONG : ENOENT);
		memcpy(name, path, len);
		name[len] = '\0';
		if (strcmp(name, "..") == 0)
			return fail_with(EXDEV);
		if (!*rest)
			return open_step(from, name, flags, top.st_dev);
		next = open_step(from, name, O_SEARCH | O_CLOEXEC, top.st_dev);
		if (next < 0)
			return -1;
		cleanup_close(&at);
		at = next;
		path = rest;
	}
}

int file_open_within(int dirfd, const char *path, int flags, enum file_reach reach)
{
	if (reach == FILE_BY_NO_LINK)
		return openat(dirfd, path, flags | O_NOFOLLOW_ANY);
	return reach == FILE_BELOW ? open_below(dirfd, path, flags) : fail_with(ENOSYS);
}

int file_open_place(int dirfd, const char *name, int flags)
{
	return openat(dirfd, name, O_SEARCH | O_CLOEXEC | flags);
}

int file_open_place_within(int dirfd, const char *path, enum file_reach reach)
{
	return file_open_within(dirfd, path, O_SEARCH | O_CLOEXEC, reach);
}

ssize_t file_path(int fd, char *out, size_t size)
{
	char path[PATH_MAX];

	if (fcntl(fd, F_GETPATH, path) < 0)
		return -1;
	if (strlen(path) >= size)
		return fail_with(ENAMETOOLONG);
	return snprintf(out, size, "%s", path);
}

/* Opens the file by its path, and fails if the path now names another file. /dev/fd/N is not used,
 * because the new descriptor would share the file offset of `fd`. */
int file_reopen(int fd, int flags)
{
	char path[PATH_MAX];
	struct stat held, found;

	if (file_path(fd, path, sizeof(path)) < 0 || fstat(fd, &held) < 0)
		return -1;
	autoclose int again = open(path, flags | O_NOFOLLOW);
	if (again < 0 || fstat(again, &found) < 0)
		return -1;
	return held.st_dev == found.st_dev && held.st_ino == found.st_ino ? steal_fd(&again)
									  : fail_with(ESTALE);
}

bool file_has_acl(int fd)
{
	(void)fd;
	return false;
}

/* macOS has extended attributes, but none that begin with "trusted.". */
ssize_t file_attribute(int fd, const char *name, char *out, size_t size)
{
	(void)fd;
	(void)name;
	(void)out;
	(void)size;
	errno = ENOTSUP;
	return -1;
}

int file_unlock_dir(int dirfd, const char *name, mode_t mode, bool same_disk)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode))
		return fail_with(ENOTDIR);
	if (same_disk && !is_of_disk(dirfd, st.st_dev))
		return fail_with(EXDEV);
	return fchmodat(dirfd, name, mode, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : fail_with(EACCES);
}

/* --- a file that no process writes to --------------------------------------------------------- */

int file_hold(int fd, uint64_t ms)
{
	(void)fd, (void)ms;
	return fail_with(ENOTSUP);
}

bool file_is_held(int fd)
{
	(void)fd;
	return false;
}

void file_let_go(int fd)
{
	(void)fd;
}

/* --- files without a name --------------------------------------------------------------------- */

/* Always fails, because a file that was made without a name cannot get a name later on macOS. */
int file_open_nameless(int dirfd, int access)
{
	(void)dirfd, (void)access;
	return fail_with(ENOTSUP);
}

int file_give_name(int fd, int dirfd, const char *name)
{
	(void)fd, (void)dirfd, (void)name;
	return fail_with(ENOTSUP);
}

/* --- clones ----------------------------------------------------------------------------------- */

int file_clone_into(int from, int to)
{
	(void)from, (void)to;
	return fail_with(ENOTSUP);
}

/* Opens a clone for writing. A clone has the mode and the flags of its original (clonefile(2)),
 * which may forbid to write to the clone or to remove it. So the mode and the flags are changed
 * first. The user may change them, because the user who makes a clone owns it (CLONE_NOOWNERCOPY).
 * On failure the clone is removed. */
static int open_clone(int dirfd, const char *name)
{
	autoclose int clone = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int fd, why;

	if (clone >= 0 && fchflags(clone, 0) == 0 && fchmod(clone, S_IRUSR | S_IWUSR) == 0 &&
	    (fd = openat(dirfd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)) >= 0)
		return fd;
	why = errno;
	(void)unlinkat(dirfd, name, 0);
	return fail_with(why);
}

bool file_never_clones(int fd)
{
	(void)fd;
	return false;
}

int file_make_clone(int from, int dirfd, const char *name, bool *cloned, int *why)
{
	int to;

	*why = 0;
	if (fclonefileat(from, dirfd, name, CLONE_NOFOLLOW | CLONE_NOOWNERCOPY) == 0) {
		*cloned = true;
		return open_clone(dirfd, name);
	}
	*why = errno;
	to = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    S_IRUSR | S_IWUSR);
	if (to >= 0)
		*cloned = false;
	return to;
}

int file_try_clone(int dirfd)
{
	char from[40], to[44];
	uint64_t random;
	int rc, why;

	if (random_bytes(&random, sizeof(random), NULL) < 0)
		return -1;
	snprintf(from, sizeof(from), ".clone-%016llx", (unsigned long long)random);
	snprintf(to, sizeof(to), "%s-of", from);
	autoclose int fd = openat(dirfd, from, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	rc = fclonefileat(fd, dirfd, to, 0);
	why = errno;
	(void)unlinkat(dirfd, from, 0);
	if (rc == 0)
		(void)unlinkat(dirfd, to, 0);
	errno = why;
	return rc == 0;
}

ssize_t file_copy_range(int from, off_t at, int to, off_t to_at, size_t len)
{
	(void)from, (void)at, (void)to, (void)to_at, (void)len;
	return fail_with(ENOSYS);
}

int file_allocate(int fd, off_t len)
{
	struct stat st;
	fstore_t store = {.fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE};

	if (fstat(fd, &st) < 0)
		return errno;
	if (st.st_size >= len)
		return 0;
	store.fst_length = len - st.st_size;
	return fcntl(fd, F_PREALLOCATE, &store) < 0 || ftruncate(fd, len) < 0 ? errno : 0;
}
