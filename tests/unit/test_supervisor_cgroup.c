/* SPDX-License-Identifier: MIT */
/* What of a workspace's cgroup needs no cgroup: a limit written, and what is never removed. */
#include "test_base.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "supervisor/handover/cgroup.h"

static char dir_path[] = "/tmp/microagent-cgroup-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir_path) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return path_remove_tree_at(AT_FDCWD, dir_path, NULL);
}

static void a_limit_is_written_or_named(void **state)
{
	struct error err = {0};
	char text[32] = "";
	int dir = open(dir_path, O_RDONLY | O_DIRECTORY);
	int file = openat(dir, "memory.max", O_RDWR | O_CREAT, 0600);

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(cgroup_limit(dir, "memory.max", 805306368, &err), 0);
	assert_int_equal(read(file, text, sizeof(text) - 1), 9);
	assert_string_equal(text, "805306368");
	/* Nothing is made where the kernel has no such file. */
	assert_int_equal(cgroup_limit(dir, "pids.max", 1, &err), -1);
	assert_non_null(strstr(err.msg, "pids.max"));
	assert_int_equal(faccessat(dir, "pids.max", F_OK, 0), -1);
	close(file);
	close(dir);
}

static void only_groups_of_ours_are_removed(void **state)
{
	static const char *const foreign[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/user.slice",
					      "microagent.a.1", ""};
	struct error err = {0};
	char path[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		assert_int_equal(cgroup_remove(foreign[i], 0, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
	}
	/* A directory of that name that is no cgroup stays; one that is not there is no failure. */
	snprintf(path, sizeof(path), "%s/microagent.a.1", dir_path);
	assert_int_equal(cgroup_remove(path, 0, &err), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(cgroup_remove(path, 0, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_int_equal(rmdir(path), 0);
}

static void what_was_never_entered_is_left_and_freed(void **state)
{
	struct cgroup none = CGROUP_NONE;
	struct error err = {0};

	(void)state;
	assert_int_equal(cgroup_leave(&none, &err), 0);
	cgroup_free(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_is_written_or_named),
		cmocka_unit_test(only_groups_of_ours_are_removed),
		cmocka_unit_test(what_was_never_entered_is_left_and_freed),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
