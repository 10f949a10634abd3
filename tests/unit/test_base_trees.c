/* SPDX-License-Identifier: MIT */
/* Tests what a process can still reach in a root of its own, without Landlock; in a child. */
#include "test_base.h"

#include <errno.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/platform/linux/isolate.h"
#include "confined.h"

#define NO_NAMESPACES 77
#define PLACE (O_PATH | O_DIRECTORY | O_CLOEXEC)

static void enter(const struct isolate_tree *trees, size_t count)
{
	const struct isolate_reach reach = {.trees = trees, .tree_count = count};
	struct error err = {0};

	if (isolate_trees(&reach, &err) < 0) {
		dprintf(2, "%s\n", err.msg);
		_exit(err.code == ERR_UNAVAILABLE ? NO_NAMESPACES : 1);
	}
	HOLDS(isolate_capabilities(&err) == 0);
}

/* own and seen are below /tmp, and so is the empty root while it is made. */
static void live_in(const struct scratch *own, const struct scratch *seen, int before)
{
	autoclose int process = open("/proc/self", PLACE);
	autoclose int outside = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int named = openat(seen->fd, ".", PLACE);
	const struct isolate_tree trees[] = {
		{.path = own->path, .fd = own->fd, .writable = true},
		{.path = seen->path, .fd = seen->fd},
		{.path = "/proc/self", .fd = process},
	};
	char link[64], path[256], status[16];

	HOLDS(symlinkat("file", own->fd, "link") == 0);
	enter(trees, 3);
	/* By descriptor and by name it is what it was. */
	HOLDS(opened(own->fd, "new", O_WRONLY | O_CREAT | O_EXCL) == 0);
	HOLDS(renameat(own->fd, "new", own->fd, "file") == 0);
	snprintf(path, sizeof(path), "%s/file", own->path);
	HOLDS(opened(AT_FDCWD, path, O_WRONLY) == 0);
	HOLDS(opened(own->fd, "link", O_RDONLY) == ELOOP);
	HOLDS(opened(seen->fd, "file", O_RDONLY) == 0 && opened(named, "file", O_RDONLY) == 0);
	HOLDS(opened(seen->fd, "file", O_WRONLY) == EROFS);
	HOLDS(opened(named, "new", O_WRONLY | O_CREAT) == EROFS);
	HOLDS(opened(AT_FDCWD, "/etc/passwd", O_RDONLY) == ENOENT);
	HOLDS(mkdir("/etc", 0700) < 0 && errno == EROFS);
	/* No directory that was open before leads out. */
	HOLDS(opened(outside, "passwd", O_RDONLY) == ENOENT);
	HOLDS(opened(outside, "../../../../../etc/passwd", O_RDONLY) == ENOENT);
	HOLDS(opened(own->fd, "../../../../../../../etc/passwd", O_RDONLY) == ENOENT);
	HOLDS(opened(named, "../../../../../../../etc/passwd", O_RDONLY) == ENOENT);
	/* An open file stays as it is, and gives no more rights. */
	HOLDS(pread(before, status, 1, 0) == 1 && write(before, "y", 1) < 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", before);
	HOLDS(readlink(link, path, sizeof(path)) > 0 && opened(AT_FDCWD, link, O_RDWR) == ELOOP);
	HOLDS(opened(AT_FDCWD, "/proc/self/stat", O_RDONLY) == 0);
	HOLDS(opened(AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY) == EROFS);
	HOLDS(opened(AT_FDCWD, "/proc/1/stat", O_RDONLY) == ENOENT);
	_exit(0);
}

/* In a user namespace in which no other one can be made. */
static void fail_in(const struct scratch *own)
{
	const struct isolate_tree tree = {.path = own->path, .fd = own->fd};
	const struct isolate_reach reach = {.trees = &tree, .tree_count = 1};
	struct error err = {0};

	if (unshare(CLONE_NEWUSER) < 0)
		_exit(NO_NAMESPACES);
	/* Without a mapping the process is nobody there, who may make none. */
	HOLDS(isolate_capabilities(&err) == 0);
	HOLDS(isolate_trees(&reach, &err) < 0 && err.code == ERR_UNAVAILABLE);
	HOLDS(strncmp(err.msg, "the supervisor cannot get a root directory of its own: ", 20) == 0);
	HOLDS(opened(AT_FDCWD, "/etc/passwd", O_RDONLY) == 0); /* nothing has changed */
	_exit(0);
}

static void check_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACES) {
		print_message("no namespaces are to be had here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void only_its_own_trees(void **state)
{
	struct scratch *own = *state;
	void *other = NULL;

	assert_int_equal(scratch_make(&other), 0);
	struct scratch *seen = other;
	autoclose int made = openat(seen->fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	autoclose int before = openat(seen->fd, "file", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pwrite(made, "x", 1, 0), 1);
	close(steal_fd(&made));
	pid_t pid = fork();
	if (pid == 0)
		live_in(own, seen, before);
	check_child(pid);
	scratch_remove(&other);
}

static void where_none_is_to_be_had(void **state)
{
	pid_t pid = fork();

	if (pid == 0)
		fail_in(*state);
	check_child(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_its_own_trees, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(where_none_is_to_be_had, scratch_make,
						scratch_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
