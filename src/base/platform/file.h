/* SPDX-License-Identifier: MIT */
/* Files as the system has them: times, names, clones, and files that have no name yet. */
#ifndef BASE_PLATFORM_FILE_H
#define BASE_PLATFORM_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* Of st_mtim and st_ctim. */
struct timespec file_modified(const struct stat *st);
struct timespec file_changed(const struct stat *st);

/* As rename(), but never over what is there (EEXIST). EINVAL, ENOTSUP: not on this file system. */
int file_rename_new(int old_dir, const char *old, int new_dir, const char *new_name);

enum file_reach {
	FILE_BELOW,	 /* no "..", no link on the way and no other file system */
	FILE_IN_ROOT,	 /* as if dirfd were the root: links and ".." lead nowhere else */
	FILE_ON_DISK,	 /* not into another file system; of links nothing is said */
	FILE_BY_NO_LINK, /* no link on the way; ELOOP */
};
/* As openat(), without a mode. ENOSYS: that cannot be promised here. */
int file_open_within(int dirfd, const char *path, int flags, enum file_reach reach);

/* A descriptor of a directory to name it by, for fstat() and as a dirfd; it need not be readable.
 * O_CLOEXEC. flags: O_NOFOLLOW or 0. */
int file_open_place(int dirfd, const char *name, int flags);
int file_open_place_within(int dirfd, const char *path, enum file_reach reach);
/* The path that fd has now. Its length; -1 and errno. */
ssize_t file_path(int fd, char *out, size_t size);
/* The same file opened anew, with an offset of its own. -1 and errno. */
int file_reopen(int fd, int flags);
/* Changes the mode of what fd stands for, which O_PATH may have opened. Linux alone. -1 and errno. */
int file_change_mode(int fd, mode_t mode);
/* Whether an access control list says who may use what fd stands for, beside its mode, whose bits of the
 * group are the most that the list gives then (acl(5)). False on macOS, where a list changes no bit. */
bool file_has_acl(int fd);
/* Gives dirfd/name, a directory and no link, its mode, although it may not be opened. same_disk:
 * only on the file system that dirfd is on. -1 and errno; EACCES: it is not ours to change. */
int file_unlock_dir(int dirfd, const char *name, mode_t mode, bool same_disk);

/*
 * Until file_let_go(), or the last copy of fd is closed, nobody writes to the file, which fd has
 * open for reading: whoever opens it for that waits, after ms at the latest not for us. -1 and
 * errno: somebody has it open for writing (EAGAIN), it is another user's (EACCES), or others could
 * write to it without this system's knowledge (ENOTSUP).
 */
int file_hold(int fd, uint64_t ms);
/* It is held by fd, and nobody waits to write. */
bool file_is_held(int fd);
void file_let_go(int fd);

/* A file of that directory's file system, 0600, that has no name and is gone when nobody has it
 * open any more. access: O_WRONLY or O_RDWR. -1 and errno where there are none. */
int file_open_nameless(int dirfd, int access);
/* Gives it one, which must be new. -1 and errno. */
int file_give_name(int fd, int dirfd, const char *name);

/*
 * Makes dirfd/name exclusively, with mode 0600, and returns it open for writing. *cloned: it has
 * the data of `from` by sharing the blocks; else it is empty, and *why says why not, an errno. -1
 * and errno: it could not be made.
 */
int file_make_clone(int from, int dirfd, const char *name, bool *cloned, int *why);
/* Whether no file there can ever share blocks with another one, by the kind of its file system: who
 * tries all the same makes a file for it, and ext4 passes over each inode that was freed in the
 * last seconds, one by one, when it makes the next. false: it is to be tried. */
bool file_never_clones(int fd);
/* Tried in that directory: 1: clones share blocks; 0: they are copies; -1 and errno. */
int file_try_clone(int dirfd);
/* Into a file that is there and empty; -1 and errno. */
int file_clone_into(int from, int to);
/* As copy_file_range(); -1 and ENOSYS where there is none. */
ssize_t file_copy_range(int from, off_t at, int to, off_t to_at, size_t len);
/* Keeps room for the first len bytes. An errno, or 0. */
int file_allocate(int fd, off_t len);

#endif
