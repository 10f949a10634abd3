/* SPDX-License-Identifier: MIT */
/* Files by the system's calls: times, names, clones, and files that have no name yet. */
#ifndef BASE_PLATFORM_FILE_H
#define BASE_PLATFORM_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* Return st_mtim and st_ctim. */
struct timespec file_modified(const struct stat *st);
struct timespec file_changed(const struct stat *st);

/* Renames as rename() does, but never over an existing name (EEXIST). EINVAL or ENOTSUP if the file
 * system does not support that. */
int file_rename_new(int old_dir, const char *old, int new_dir, const char *new_name);

enum file_reach {
	FILE_BELOW,	 /* no "..", no link on the way and no other file system */
	FILE_IN_ROOT,	 /* as if dirfd were the root: links and ".." lead nowhere outside of it */
	FILE_ON_DISK,	 /* not into another file system; links are followed */
	FILE_BY_NO_LINK, /* no link on the way (ELOOP) */
};
/* Opens as openat() does, without a mode. ENOSYS if the system cannot promise that reach. */
int file_open_within(int dirfd, const char *path, int flags, enum file_reach reach);

/* Opens a directory only as a place, for fstat() and as a dirfd; it need not be readable.
 * O_CLOEXEC. flags: O_NOFOLLOW or 0. */
int file_open_place(int dirfd, const char *name, int flags);
int file_open_place_within(int dirfd, const char *path, enum file_reach reach);
/* Stores the present path of fd. Returns its length; -1 with errno on failure. */
ssize_t file_path(int fd, char *out, size_t size);
/* Opens the same file again, with an offset of its own. Returns -1 with errno on failure. */
int file_reopen(int fd, int flags);
/* Changes the mode of the file behind fd, which O_PATH may have opened. Only on Linux. -1 with
 * errno on failure. */
int file_change_mode(int fd, mode_t mode);
/* Returns whether an access control list, beside the mode, says who may use the file behind fd. The
 * bits of the group are then the most that the list gives (acl(5)). False on macOS, where a list
 * changes no bit. */
bool file_has_acl(int fd);
/* Gives the directory dirfd/name, which is no link, a mode, even if it may not be opened.
 * same_disk: only on the file system of dirfd. -1 with errno on failure; EACCES if this user may
 * not change it. */
int file_unlock_dir(int dirfd, const char *name, mode_t mode, bool same_disk);

/*
 * Keeps everyone from writing to a file that fd has open for reading, until file_let_go(), or until
 * the last copy of fd is closed. A process that opens the file for writing waits until then, but no
 * longer than ms. -1 with errno: a process has it open for writing (EAGAIN), the file belongs to
 * another user (EACCES), or others could write to it without this system's knowledge (ENOTSUP).
 */
int file_hold(int fd, uint64_t ms);
/* Returns whether fd holds the file, and nobody waits to write. */
bool file_is_held(int fd);
void file_let_go(int fd);

/* Makes a file without a name on that directory's file system, mode 0600. It is gone when no
 * process has it open any more. access: O_WRONLY or O_RDWR. Returns -1 with errno if the file
 * system has no such files. */
int file_open_nameless(int dirfd, int access);
/* Gives such a file a name, which must be new. -1 with errno on failure. */
int file_give_name(int fd, int dirfd, const char *name);

/*
 * Makes dirfd/name exclusively, with mode 0600, and returns it open for writing. If *cloned is
 * true, it has the data of `from` by sharing the blocks. Else it is empty, and *why is the errno
 * that says why. Returns -1 with errno if the file could not be made.
 */
int file_make_clone(int from, int dirfd, const char *name, bool *cloned, int *why);
/* Returns true if no file there can ever share blocks with another one, by the kind of its file
 * system. A needless attempt is expensive: it makes a file, and ext4 then skips each inode that was
 * freed in the last seconds, one by one, when it makes the next file. False means that cloning has
 * to be tried. */
bool file_never_clones(int fd);
/* Tries to clone in that directory. Returns 1 if clones share blocks; 0 if they are copies; -1 with
 * errno on failure. */
int file_try_clone(int dirfd);
/* Clones into a file that exists and is empty. -1 with errno on failure. */
int file_clone_into(int from, int to);
/* Copies as copy_file_range() does. -1 with ENOSYS where the system has no such call. */
ssize_t file_copy_range(int from, off_t at, int to, off_t to_at, size_t len);
/* Reserves space for the first len bytes. Returns 0, or an errno. */
int file_allocate(int fd, off_t len);

#endif
