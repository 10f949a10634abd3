/* SPDX-License-Identifier: MIT */
/*
 * A library that is loaded into virtiofsd (LD_PRELOAD, in its cell) and replaces some functions of
 * the C library. It corrects six errors of virtiofsd. The errors occur in four cases: host and
 * guest change one directory at the same time, rights come from supplementary groups, a guest uses
 * much memory, or the host has file systems of its kernel mounted. Line numbers are those of
 * tools/virtiofsd/passthrough_ll.c in QEMU 7.2, the last release that has this file.
 *
 * 1. The guest creates a file (lo_create, 2340) whose name the host has just created. virtiofsd
 *    opens the existing file with O_CREAT still set and without a mode, and the C library ends the
 *    process. So this library removes O_CREAT from an open without a mode. After each creation, and
 *    between these two opens, virtiofsd looks the name up. If the host has removed the file by
 *    then, the guest would be told that the file which it wants to create does not exist. So the
 *    library keeps the file that the creation has found or made, and gives it to that look-up.
 *
 * 2. The host replaces a file by rename, as editors and git do. For up to a second the guest still
 *    finds the old file under the name. If the guest wrote to the old file, its bytes would be
 *    lost. If the guest read the old file and wrote the bytes back, the guest would undo the host's
 *    change. So an open of a file that has no name any more fails with ESTALE. The guest's kernel
 *    then looks the name up once more (do_filp_open in fs/namei.c). If the file that the kernel
 *    finds has lost its name again before the open, the guest gets this file, since the file had
 *    its name at the look-up. A guest that opens the refused file again without a look-up
 *    (/proc/self/fd) knows no name of the file, and may read it.
 *
 * 3. The guest removes or renames a name under which the host has put another file (lo_unlink,
 *    lo_rmdir, lo_rename, 1620 to 1740). virtiofsd first looks for the file among the files that it
 *    knows, in lookup_name(). virtiofsd only holds the result until the end of the call, and does
 *    not use it. But if the file is not known, virtiofsd answers EIO. So the library gives
 *    virtiofsd any file that virtiofsd knows instead of the unknown file. A known file exists,
 *    because the guest has looked up a file before it names one.
 *
 * 4. A process of the guest creates a file in a directory to which it may write only by a
 *    supplementary group. virtiofsd has no supplementary groups, and no CAP_DAC_OVERRIDE while it
 *    acts as the user of that process. So the creation would fail. The library keeps the capability
 *    effective, since the guest's kernel has checked the right already (default_permissions).
 *
 * 5. A process of the guest opens directories again and again (32 KiB of virtiofsd's memory for
 *    each), or locks bytes of files again and again (memory of the host's kernel, which is charged
 *    to no process). The library limits the number of open directories and the number of locks.
 *    Beyond the limits the answers are ENFILE and ENOLCK.
 *
 * 6. The host mounts a file system of its kernel (/proc) below a directory that virtiofsd serves
 *    with all mounts below it. virtiofsd runs as the host's root, and would change the kernel's
 *    settings for the guest. virtiofsd looks up each file by its name in a known directory, with
 *    O_PATH, and then uses only the descriptor of that look-up. If a look-up leads to such a file
 *    system, the library returns an empty directory of the cell instead. So virtiofsd never reaches
 *    such a file system, no matter when the host has mounted it. If the library returned an error
 *    instead, the guest could not list the parent directory.
 *
 * virtiofsd in Rust (rust-vmm) has only the errors 2 and 6. virtiofsd in Rust has no locks, and
 * does not use memory for each open directory.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/platform/linux/kernel_fs.h"

#define SHOWN __attribute__((visibility("default")))

typedef int openat_fn(int dirfd, const char *path, int flags, ...);

/* Pointers to the functions of the C library that this library replaces. The pointers may be needed
 * before a constructor of this library has run, since constructors of other libraries may call the
 * replaced functions. */
static openat_fn *next_openat;
static long (*next_syscall)(long number, ...);
static int (*next_statx)(int dirfd, const char *path, int flags, unsigned mask, struct statx *out);

static void find_next(void)
{
	/* ISO C does not allow a cast from the result of dlsym() to a pointer to a function. POSIX
	 * allows the result to be stored as such a pointer. */
	if (!next_openat)
		*(void **)&next_openat = dlsym(RTLD_NEXT, "openat64");
	if (!next_statx)
		*(void **)&next_statx = dlsym(RTLD_NEXT, "statx");
	if (!next_syscall)
		*(void **)&next_syscall = dlsym(RTLD_NEXT, "syscall");
}

/* --- opening --------------------------------------------------------------------------------- */

/* Descriptors of /proc/self/fd of virtiofsd, and of an empty, read-only directory. Both were opened
 * before virtiofsd changed its root directory. */
static int proc_self_fd = -1, empty_fd = -1;
/* cells: the file system of the empty directory and of the cell's root. devices: the file system of
 * the host's /dev. */
static struct statx cells, devices;

/* Finds the file system of a file. A remote server is not asked (AT_STATX_DONT_SYNC). */
static int find_device(int dirfd, const char *path, struct statx *out)
{
	return next_statx(dirfd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, out);
}

static bool is_same_device(const struct statx *a, const struct statx *b)
{
	return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

__attribute__((constructor)) static void open_own(void)
{
	struct statx program;

	find_next();
	proc_self_fd = next_openat(AT_FDCWD, "/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	empty_fd = next_openat(AT_FDCWD, "/empty", O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)find_device(empty_fd, "", &cells);
	/* Standard input is the host's /dev/null, so its file system is that of /dev. If /dev is a
	 * part of the host's root, /dev is not a separate file system. */
	if (find_device(STDIN_FILENO, "", &devices) < 0 ||
	    (find_device(AT_FDCWD, "/proc/self/exe", &program) == 0 &&
	     is_same_device(&devices, &program)))
		devices = cells;
}

/* Returns the descriptor that the guest gets for fd, which was looked up in the directory dirfd: fd
 * itself, or the empty directory. A file on the file system of dirfd is allowed, since the guest
 * has that directory already. The file system of the cell is refused, since `..` of the empty
 * directory would lead there. Closes fd if another descriptor is returned. */
static int only_files(int dirfd, int fd)
{
	struct statx here, there;
	struct statfs fs;
	int result, reason;

	if (fd < 0)
		return fd;
	result = find_device(fd, "", &here) < 0 ? -1 : find_device(dirfd, "", &there);
	if (result == 0 && !is_same_device(&here, &cells)) {
		if (is_same_device(&here, &there))
			return fd;
		result = fstatfs(fd, &fs);
		if (result == 0 && !is_same_device(&here, &devices) &&
		    !kernel_fs_is((unsigned long)fs.f_type))
			return fd;
	}
	reason = errno;
	close(fd);
	errno = reason;
	return result < 0 ? -1 : next_openat(empty_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The file (O_PATH) that the last creation of this thread has made or found, and its name. */
static __thread struct {
	int fd;
	int dirfd;
	char name[NAME_MAX + 1];
} created = {.fd = -1};

/* Keeps a descriptor of the file at `path` in the directory `at`, since virtiofsd will look this
 * file up as `name` next. */
static void keep_created(int at, const char *path, int flags, int dirfd, const char *name)
{
	if (created.fd >= 0)
		close(created.fd);
	created.fd = -1;
	if (strlen(name) >= sizeof(created.name))
		return;
	created.fd = next_openat(at, path, flags | O_PATH | O_CLOEXEC);
	created.dirfd = dirfd;
	memcpy(created.name, name, strlen(name) + 1);
}

static int take_created(int dirfd, const char *name)
{
	int fd = created.fd;

	if (fd < 0)
		return -1;
	created.fd = -1;
	if (created.dirfd == dirfd && strcmp(created.name, name) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Returns true if `path` has the form by which virtiofsd names a file that it knows: a number in
 * /proc/self/fd. */
static bool is_known_file(const char *path)
{
	return *path && path[strspn(path, "0123456789")] == '\0';
}

/* The file that this thread keeps in mind between an answer ESTALE and the guest's next open. This
 * file is the refused file, or the file that the guest has looked up since then. */
static __thread struct {
	bool pending, has_looked;
	dev_t dev;
	ino_t ino;
} retry;

/* Opens a file that virtiofsd knows, and that the guest has looked up by its name. */
static int open_known(int dirfd, const char *path, int flags)
{
	int fd = next_openat(dirfd, path, flags);
	bool reads = (flags & O_ACCMODE) == O_RDONLY;
	struct stat st;
	bool is_meant;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fd;
	is_meant = retry.pending && retry.dev == st.st_dev && retry.ino == st.st_ino &&
		   (retry.has_looked || reads);
	retry.pending = false;
	if (st.st_nlink > 0 || is_meant)
		return fd;
	close(fd);
	retry.pending = true;
	retry.has_looked = false;
	retry.dev = st.st_dev;
	retry.ino = st.st_ino;
	errno = ESTALE;
	return -1;
}

/* Creates a file. If the file exists, the creation fails, and the existing file is looked at. If
 * the host has removed that file before this, the creation is tried again. */
static int create(int dirfd, const char *path, int flags, mode_t mode)
{
	char number[16];

	for (;;) {
		int fd = next_openat(dirfd, path, flags, mode);

		if (fd >= 0) {
			snprintf(number, sizeof(number), "%d", fd);
			keep_created(proc_self_fd, number, 0, dirfd, path);
			return fd;
		}
		if (errno != EEXIST)
			return fd;
		keep_created(dirfd, path, O_NOFOLLOW, dirfd, path);
		if (created.fd >= 0 || errno != ENOENT) {
			errno = EEXIST;
			return -1;
		}
	}
}

static int open_at(int dirfd, const char *path, int flags, mode_t mode)
{
	struct stat st;
	int fd;

	find_next();
	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
		retry.pending = false;
		return create(dirfd, path, flags, mode);
	}
	if (flags & O_PATH) {
		fd = take_created(dirfd, path);
		fd = fd >= 0 ? fd : next_openat(dirfd, path, flags, mode);
		if (dirfd != AT_FDCWD)
			fd = only_files(dirfd, fd);
		if (retry.pending && fd >= 0 && fstat(fd, &st) == 0) {
			retry.has_looked = true;
			retry.dev = st.st_dev;
			retry.ino = st.st_ino;
		}
		return fd;
	}
	return is_known_file(path) ? open_known(dirfd, path, flags)
				   : next_openat(dirfd, path, flags, mode);
}

SHOWN int openat64(int fd, const char *file, int oflag, ...)
{
	va_list more;
	mode_t mode;

	va_start(more, oflag);
	mode = oflag & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
	va_end(more);
	return open_at(fd, file, oflag, mode);
}

SHOWN int openat(int fd, const char *file, int oflag, ...)
{
	va_list more;
	mode_t mode;

	va_start(more, oflag);
	mode = oflag & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
	va_end(more);
	return open_at(fd, file, oflag, mode);
}

/* The function that the C library calls for an openat() without a mode (_FORTIFY_SOURCE). */
int __openat64_2(int dirfd, const char *path, int flags);      /* NOLINT: glibc's name */
SHOWN int __openat64_2(int dirfd, const char *path, int flags) /* NOLINT: glibc's name */
{
	find_next();
	/* The guest wanted to create the file, and virtiofsd has just found it. So the guest gets
	 * this file, even if the file has no name any more. */
	if (flags & O_CREAT)
		return next_openat(dirfd, path, flags & ~(O_CREAT | O_EXCL));
	return open_at(dirfd, path, flags, 0);
}

/* --- looking up by name ---------------------------------------------------------------------- */

/* True if lookup_name() has called statx() and has not yet called g_hash_table_lookup(). */
static __thread bool is_looking_up;

/* Replaces statx(). Only lookup_name() passes a name to statx(); other callers pass a descriptor. A
 * missing file is reported to lookup_name() as a file that virtiofsd does not know. Then the
 * operation of the guest itself reports that the file is missing. Otherwise the answer would be
 * EIO. */
SHOWN int statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *buf)
{
	int result;

	find_next();
	result = next_statx(dirfd, path, flags, mask, buf);
	if (!*path || flags != AT_SYMLINK_NOFOLLOW)
		return result;
	is_looking_up = true;
	if (result < 0)
		memset(buf, 0, sizeof(*buf));
	return 0;
}

/* Declarations of GLib's hash tables. Nothing else of GLib is used. */
typedef struct GHashTable GHashTable;
struct iterator {
	void *opaque[8]; /* room for a GHashTableIter, which has six members, none larger than a
			  * pointer */
};
void *g_hash_table_lookup(GHashTable *table, const void *key);

SHOWN void *g_hash_table_lookup(GHashTable *table, const void *key)
{
	static void *(*next_lookup)(GHashTable * table, const void *key);
	static void (*start)(struct iterator * iterator, GHashTable * table);
	static int (*next)(struct iterator * iterator, void **key, void **value);
	struct iterator iterator;
	bool any = is_looking_up;
	void *value, *other;

	if (!next_lookup) {
		*(void **)&start = dlsym(RTLD_NEXT, "g_hash_table_iter_init");
		*(void **)&next = dlsym(RTLD_NEXT, "g_hash_table_iter_next");
		*(void **)&next_lookup = dlsym(RTLD_NEXT, "g_hash_table_lookup");
	}
	is_looking_up = false;
	value = next_lookup(table, key);
	if (value || !any)
		return value;
	start(&iterator, table);
	return next(&iterator, NULL, &other) ? other : NULL;
}

/* --- bounds ---------------------------------------------------------------------------------- */

#define DIRECTORIES_MOST 2048
#define LOCKS_MOST 16384

static DIR *next_fdopendir(int fd)
{
	static DIR *(*next)(int fd);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "fdopendir");
	return next(fd);
}

static int next_closedir(DIR *dir)
{
	static int (*next)(DIR * dir);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "closedir");
	return next(dir);
}

static _Atomic unsigned directories;

SHOWN DIR *fdopendir(int fd)
{
	DIR *dir = NULL;

	if (++directories <= DIRECTORIES_MOST)
		dir = next_fdopendir(fd);
	else
		errno = ENFILE;
	if (!dir)
		directories--;
	return dir;
}

SHOWN int closedir(DIR *dirp)
{
	directories--;
	return next_closedir(dirp);
}

/* Counts the locks that a descriptor holds; its file in fdinfo has one line for each lock. Returns
 * 0 if the descriptor was closed meanwhile, UINT_MAX if the file cannot be read. */
static unsigned locks_of(int fdinfo, const char *name)
{
	static const char line[] = "\nlock:";
	int fd = next_openat(fdinfo, name, O_RDONLY | O_CLOEXEC);
	char text[4096];
	unsigned count = 0;
	size_t matched = 0;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : UINT_MAX;
	while ((n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			matched = text[i] == line[matched] ? matched + 1 : text[i] == '\n';
			if (matched == sizeof(line) - 1) {
				count++;
				matched = 0;
			}
		}
	close(fd);
	return count;
}

/* Counts all locks of the process. Returns UINT_MAX if they cannot be counted, for example because
 * no descriptor is free. In that case no lock is set. */
static unsigned count_locks(void)
{
	int fdinfo = next_openat(proc_self_fd, "../fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdinfo < 0 ? NULL : next_fdopendir(fdinfo);
	const struct dirent *entry;
	unsigned count = 0, more;

	while (dir && count < UINT_MAX && (entry = readdir(dir)))
		if (*entry->d_name != '.') {
			more = locks_of(fdinfo, entry->d_name);
			count = more == UINT_MAX ? more : count + more;
		}
	if (!dir && fdinfo >= 0)
		close(fdinfo);
	if (!dir)
		return UINT_MAX;
	(void)next_closedir(dir);
	return count;
}

/* Returns true if one more lock would be too many. Each call that sets or splits a lock adds at
 * most one lock. So the calls are counted, and the locks themselves are counted only after enough
 * calls. */
static bool has_too_many_locks(void)
{
	static _Atomic unsigned most;

	unsigned held;

	if (++most <= LOCKS_MOST)
		return false;
	held = count_locks();
	most = held < LOCKS_MOST ? held + 1 : LOCKS_MOST + 1;
	return held >= LOCKS_MOST;
}

/* Replaces fcntl64(). Reads a third argument for each command and passes it on, although some
 * commands have none. */
SHOWN int fcntl64(int fd, int cmd, ...)
{
	static int (*next)(int fd, int cmd, ...);
	const struct flock *lock;
	va_list more;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "fcntl64");
	va_start(more, cmd);
	lock = va_arg(more, const struct flock *);
	va_end(more);
	find_next();
	if (cmd == F_OFD_SETLK &&
	    !(lock->l_type == F_UNLCK && lock->l_start == 0 && lock->l_len == 0) &&
	    has_too_many_locks()) {
		errno = ENOLCK;
		return -1;
	}
	return next(fd, cmd, lock);
}

/* --- rights ---------------------------------------------------------------------------------- */

/* Makes CAP_DAC_OVERRIDE effective again. The change of the user has removed it from the effective
 * set, but not from the permitted set. */
static void keep_dac_override(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (next_syscall(SYS_capget, &header, data) < 0)
		return;
	data[0].effective |= data[0].permitted & 1U << CAP_DAC_OVERRIDE;
	(void)next_syscall(SYS_capset, &header, data);
}

/* Replaces syscall(). virtiofsd calls syscall() to change the user of one thread only, which
 * glibc's setresuid() cannot do. virtiofsd in Rust calls syscall() to open the files that it looks
 * up. */
SHOWN long syscall(long sysno, ...)
{
	long words[6], result;
	va_list more;

	find_next();
	va_start(more, sysno);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(more, long);
	va_end(more);
	result = next_syscall(sysno, words[0], words[1], words[2], words[3], words[4], words[5]);
	if (sysno == SYS_setresuid && result == 0 && (int)words[1] > 0)
		keep_dac_override();
	if (sysno == SYS_openat2 && (int)words[0] != AT_FDCWD)
		return only_files((int)words[0], (int)result);
	return result;
}
