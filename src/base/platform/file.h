/* SPDX-License-Identifier: MIT */
/* Functions for files whose implementation depends on the operating system: times, names, clones,
 * and files that have no name yet. */
#ifndef BASE_PLATFORM_FILE_H
#define BASE_PLATFORM_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* Return the times of the last change of the data (st_mtim) and of the inode (st_ctim). */
struct timespec file_modified(const struct stat *st);
struct timespec file_changed(const struct stat *st);

/* Renames as rename() does, but never over an existing name (EEXIST). EINVAL or ENOTSUP if the file
 * system does not support that. */
int file_rename_new(int old_dir, const char *old, int new_dir, const char *new_name);

/* The limits within which the path of a file may lead. */
enum file_reach {
	FILE_BELOW,	 /* the path stays below dirfd: it has no "..", and leads through no
			  * symbolic link and into no other file system */
	FILE_IN_ROOT,	 /* the path stays below dirfd, as if dirfd were the root: symbolic links
			  * and ".." are followed, but never lead out of dirfd */
	FILE_ON_DISK,	 /* the path leads into no other file system; symbolic links are followed */
	FILE_BY_NO_LINK, /* the path leads through no symbolic link (otherwise ELOOP) */
};
/* Opens like openat(), but makes no file, and only as far as `reach` allows. Fails with ENOSYS if
 * the system cannot enforce `reach`. */
int file_open_within(int dirfd, const char *path, int flags, enum file_reach reach);

/* Open a directory only for fstat() and as a dirfd. The directory need not be readable. The
 * descriptor is O_CLOEXEC. `flags`: O_NOFOLLOW or 0. */
int file_open_place(int dirfd, const char *name, int flags);
int file_open_place_within(int dirfd, const char *path, enum file_reach reach);
/* Writes the present path of the file `fd` to `out`. Returns its length; -1 with errno on
 * failure. */
ssize_t file_path(int fd, char *out, size_t size);
/* Opens the file to which `fd` refers once more, with a separate file offset. Returns the new
 * descriptor; -1 with errno on failure. */
int file_reopen(int fd, int flags);
/* Changes the mode of the file to which `fd` refers, even if `fd` was opened with O_PATH. Only
 * Linux has this function. Returns -1 with errno on failure. */
int file_change_mode(int fd, mode_t mode);
/* Returns true if the file to which `fd` refers has an access control list. Such a list gives
 * rights to users and groups in addition to the mode. The group bits of the mode then limit the
 * rights of all users and groups that the list names (acl(5)). Returns false on macOS, where a list
 * changes no bit of the mode. */
bool file_has_acl(int fd);
/* Stores the value of an extended attribute of the file behind `fd`, without a NUL behind it. Returns
 * its length, or -1 with errno: ENODATA if the file has no such attribute, ERANGE if the value is
 * longer than `size`, ENOTSUP if there are no such attributes. Only a process with the capability
 * CAP_SYS_ADMIN sees the attributes "trusted.*" of Linux; for other processes no file has one. */
ssize_t file_attribute(int fd, const char *name, char *out, size_t size);
/* Sets the mode of the directory dirfd/name, also if this process may not open the directory.
 * Follows no link. `same_disk`: fails if the directory is not on the file system of `dirfd`. -1
 * with errno on failure; EACCES if this user may not change the mode. */
int file_unlock_dir(int dirfd, const char *name, mode_t mode, bool same_disk);

/*
 * Keeps all processes from writing to the file to which `fd` refers, until file_let_go() is called
 * or the last copy of `fd` is closed. `fd` must be open only for reading. A process that opens the
 * file for writing must wait until then, but at most ms milliseconds. Returns -1 with errno on
 * failure. EAGAIN: a process has the file open for writing. EACCES: the file belongs to another
 * user. ENOTSUP: on a network file system, another host could write to the file, and this host
 * would not notice it.
 */
int file_hold(int fd, uint64_t ms);
/* Returns true if `fd` still keeps other processes from writing, and no process waits to write. */
bool file_is_held(int fd);
void file_let_go(int fd);

/* Makes a file without a name, with mode 0600, on the file system of the directory `dirfd`, and
 * returns its descriptor. The kernel frees the file when no process has it open any more. `access`
 * is O_WRONLY or O_RDWR. Returns -1 with errno if the file system has no such files. */
int file_open_nameless(int dirfd, int access);
/* Gives a file of file_open_nameless() the name dirfd/name, which must not exist. Returns -1 with
 * errno on failure. */
int file_give_name(int fd, int dirfd, const char *name);

/*
 * Makes the new file dirfd/name, with mode 0600, and returns a descriptor for writing. Sets *cloned
 * to true if the file has the data of `from` and shares its blocks. Otherwise the file is empty,
 * and *why is the error number of the attempt to clone. Returns -1 with errno if the file could not
 * be made.
 */
int file_make_clone(int from, int dirfd, const char *name, bool *cloned, int *why);
/* Returns true if the kind of the file system of `fd` cannot share blocks between files. If this
 * function returns false, only an attempt shows if clones share blocks. Each attempt makes and
 * removes a file, which is slow on ext4: when ext4 makes the next file, it skips, one by one, each
 * inode that was freed in the last seconds. So callers use this function to avoid attempts that
 * cannot succeed. */
bool file_never_clones(int fd);
/* Tries to clone a file in the directory. Returns 1 if clones share blocks, 0 if they do not, -1
 * with errno on failure. */
int file_try_clone(int dirfd);
/* Makes the empty file `to` a clone of `from`. Returns -1 with errno on failure. */
int file_clone_into(int from, int to);
/* Copies as copy_file_range() does. Returns -1 with ENOSYS if the system has no such call. */
ssize_t file_copy_range(int from, off_t at, int to, off_t to_at, size_t len);
/* Reserves space on the disk for the first `len` bytes of a file. Returns 0, or an errno. */
int file_allocate(int fd, off_t len);

#endif
