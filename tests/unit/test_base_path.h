/* SPDX-License-Identifier: MIT */
/* Things that the tests of paths share: files to write and look at, and functions that make
 * them. */
#ifndef TEST_BASE_PATH_H
#define TEST_BASE_PATH_H

#include "test_base.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/fd.h"

static inline void write_file(int dir, const char *name, const char *text)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text), NULL), 0);
}

static inline void assert_content(int dir, const char *name, const char *text)
{
	autobuf struct buf b = BUF_INIT(0);
	struct error err;

	assert_ok(path_read_file_at(dir, name, &b, &err));
	assert_string_equal(buf_string(&b), text);
}

static inline int count_entries(int dir)
{
	autodir DIR *d = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int n = 0;

	while (readdir(d))
		n++;
	return n - 2;
}

static inline bool exists(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Returns the result of fn in a child, since fn changes the whole process. */
static inline int in_child(int (*fn)(const struct scratch *), const struct scratch *s)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fn(s));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static inline bool write_proc(const char *path, const char *text)
{
	autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && fd_write_all(fd, text, strlen(text), NULL) == 0;
}

/* Enters a mount namespace: root may do so, and another user becomes root of a new user
 * namespace. */
static inline bool enter_mount_namespace(void)
{
	uid_t uid = getuid();
	char uid_map[32], gid_map[32];

	snprintf(uid_map, sizeof(uid_map), "0 %u 1", uid);
	snprintf(gid_map, sizeof(gid_map), "0 %u 1", getgid());
	if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) < 0)
		return false;
	if (uid && (!write_proc("/proc/self/setgroups", "deny") ||
		    !write_proc("/proc/self/uid_map", uid_map) ||
		    !write_proc("/proc/self/gid_map", gid_map)))
		return false;
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

#define WITH_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

#endif
