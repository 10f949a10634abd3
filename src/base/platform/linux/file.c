/* SPDX-License-Identifier: MIT */
#include "base/platform/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

struct timespec file_modified(const struct stat *st)
{
	return st->st_mtim;
}

struct timespec file_changed(const struct stat *st)
{
	return st->st_ctim;
}

int file_rename_new(int old_dir, const char *old, int new_dir, const char *new_name)
{
	return renameat2(old_dir, old, new_dir, new_name, RENAME_NOREPLACE);
}

/* --- opening ---------------------------------------------------------------------------------- */

int file_open_within(int dirfd, const char *path, int flags, enum file_reach reach)
{
	static const uint64_t resolve[] = {
		[FILE_BELOW] = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
		[FILE_IN_ROOT] = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
		[FILE_ON_DISK] = RESOLVE_NO_XDEV,
		[FILE_BY_NO_LINK] = RESOLVE_NO_SYMLINKS,
	};
	struct open_how how = {.flags = (uint64_t)(unsigned)flags, .resolve = resolve[reach]};

	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

int file_open_place(int dirfd, const char *name, int flags)
{
	return openat(dirfd, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);
}

int file_open_place_within(int dirfd, const char *path, enum file_reach reach)
{
	return file_open_within(dirfd, path, O_PATH | O_DIRECTORY | O_CLOEXEC, reach);
}

/* Writes the path of a descriptor in /proc. The path contains the directory of the thread, because
 * the directory of the process is empty if its main thread has exited (proc(5)). */
static void name_of_fd(int fd, char out[32])
{
	snprintf(out, 32, "/proc/thread-self/fd/%d", fd);
}

ssize_t file_path(int fd, char *out, size_t size)
{
	char self[32];
	ssize_t n;

	name_of_fd(fd, self);
	n = readlink(self, out, size - 1);
	if (n >= 0)
		out[n] = '\0';
	return n;
}

int file_reopen(int fd, int flags)
{
	char self[32];

	name_of_fd(fd, self);
	return open(self, flags);
}

int file_change_mode(int fd, mode_t mode)
{
	char self[32];

	name_of_fd(fd, self);
	return chmod(self, mode);
}

bool file_has_acl(int fd)
{
	char self[32];

	name_of_fd(fd, self);
	return getxattr(self, "system.posix_acl_access", NULL, 0) > 0;
}

/* Changes the mode through a descriptor. chmod() of the path could follow a symbolic link that has
 * replaced the directory. */
ssize_t file_attribute(int fd, const char *name, char *out, size_t size)
{
	return fgetxattr(fd, name, out, size);
}

int file_unlock_dir(int dirfd, const char *name, mode_t mode, bool same_disk)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	autoclose int place = same_disk ? file_open_within(dirfd, name, flags, FILE_ON_DISK)
					: openat(dirfd, name, flags);

	if (place < 0 && same_disk && (errno == ENOSYS || errno == EPERM))
		place = openat(dirfd, name, flags);
	if (place < 0)
		return -1;
	if (file_change_mode(place, mode) == 0)
		return 0;
	errno = EACCES;
	return -1;
}

/* --- a file that no process writes to --------------------------------------------------------- */

/* Returns true if, on the file system of `fd`, no file can change while a process holds a lease
 * (F_SETLEASE) on it. On a network file system, an overlay or a FUSE file system, files can change
 * during a lease. */
static bool has_one_way_in(int fd)
{
	static const unsigned long types[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
					      F2FS_SUPER_MAGIC, TMPFS_MAGIC};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((unsigned long)fs.f_type == types[i])
			return true;
	return false;
}

/* Returns the longest time, in milliseconds, for which the kernel makes a writer wait for the end
 * of a lease; 0 if the time is not known. */
static uint64_t lease_break_ms(void)
{
	autoclose int fd = open("/proc/sys/fs/lease-break-time", O_RDONLY | O_CLOEXEC);
	char text[24] = "";

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 ? strtoul(text, NULL, 10) * 1000 : 0;
}

/* Takes a lease (F_SETLEASE) on the file. When a writer begins to wait, the kernel sends a signal
 * to the process with the lease. The signal is set to SIGURG, which is ignored by default. The
 * kernel's default, SIGIO, would kill the process. */
int file_hold(int fd, uint64_t ms)
{
	if (!has_one_way_in(fd) || lease_break_ms() < ms) {
		errno = ENOTSUP;
		return -1;
	}
	return fcntl(fd, F_SETSIG, SIGURG) < 0 ? -1 : fcntl(fd, F_SETLEASE, F_RDLCK);
}

bool file_is_held(int fd)
{
	return fcntl(fd, F_GETLEASE) == F_RDLCK;
}

void file_let_go(int fd)
{
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
}

/* --- files without a name --------------------------------------------------------------------- */

int file_open_nameless(int dirfd, int access)
{
	return openat(dirfd, ".", O_TMPFILE | O_CLOEXEC | access, S_IRUSR | S_IWUSR);
}

int file_give_name(int fd, int dirfd, const char *name)
{
	char self[32];

	name_of_fd(fd, self);
	return linkat(AT_FDCWD, self, dirfd, name, AT_SYMLINK_FOLLOW);
}

/* --- clones ----------------------------------------------------------------------------------- */

int file_clone_into(int from, int to)
{
	return ioctl(to, FICLONE, from);
}

int file_make_clone(int from, int dirfd, const char *name, bool *cloned, int *why)
{
	int to = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			S_IRUSR | S_IWUSR);

	if (to < 0)
		return -1;
	*cloned = file_clone_into(from, to) == 0;
	*why = *cloned ? 0 : errno;
	return to;
}

bool file_never_clones(int fd)
{
	struct statfs fs;

	/* f_type of ext2 and ext3 is equal to that of ext4. */
	return fstatfs(fd, &fs) == 0 && (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC);
}

int file_try_clone(int dirfd)
{
	autoclose int from = file_open_nameless(dirfd, O_RDWR);
	autoclose int to = from < 0 ? -1 : file_open_nameless(dirfd, O_RDWR);

	return to < 0 ? -1 : file_clone_into(from, to) == 0;
}

ssize_t file_copy_range(int from, off_t at, int to, off_t to_at, size_t len)
{
	return copy_file_range(from, &at, to, &to_at, len, 0);
}

int file_allocate(int fd, off_t len)
{
	return posix_fallocate(fd, 0, len);
}
