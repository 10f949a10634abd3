/* SPDX-License-Identifier: MIT */
/* Tests the parts of a workspace's cgroup that need no cgroup: a limit that is written, and
 * directories that are never removed. */
#include "test_base.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "supervisor/handover/cgroup.h"
#include "supervisor/handover/cgroup_find.h"

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
	/* Nothing is made if the kernel has no such file. */
	assert_int_equal(cgroup_limit(dir, "pids.max", 1, &err), -1);
	assert_non_null(strstr(err.msg, "pids.max"));
	assert_int_equal(faccessat(dir, "pids.max", F_OK, 0), -1);
	close(file);
	close(dir);
}

static void only_groups_of_ours_are_removed(void **state)
{
	static const char *const foreign[] = {"/sys/fs/cgroup",
					      "/sys/fs/cgroup/user.slice",
					      "microagent.a.1",
					      "",
					      "/sys/fs/cgroup/microagent.b.1",
					      "/sys/fs/cgroup/microagent.a.b.1",
					      "/sys/fs/cgroup/microagent.a.",
					      "/sys/fs/cgroup/microagent.a.1x",
					      "/sys/fs/cgroup/microagent.a.1/x"};
	const struct cgroup_owner a = {.id = "a"};
	struct error err = {0};
	char path[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		assert_int_equal(cgroup_remove(foreign[i], &a, 0, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
	}
	/* A directory of that name that is no cgroup stays. A missing one is no failure. */
	snprintf(path, sizeof(path), "%s/microagent.a.1", dir_path);
	assert_int_equal(cgroup_remove(path, &a, 0, &err), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(cgroup_remove(path, &a, 0, &err), -1);
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

/* --- a place that nobody named --------------------------------------------------------------- */

static void put_file(const char *group, const char *name, const char *text)
{
	char path[192];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s/%s", dir_path, group, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* A group as the kernel shows it. */
static void put_group(const char *group, const char *controllers, const char *below,
		      const char *processes)
{
	char path[192];

	snprintf(path, sizeof(path), "%s%s", dir_path, group);
	(void)mkdir(path, 0755);
	put_file(group, "cgroup.controllers", controllers);
	put_file(group, "cgroup.subtree_control", below);
	put_file(group, "cgroup.procs", processes);
	if (*group)
		put_file(group, "cgroup.type", "domain\n");
}

static void expect_found(const char *own, const char *group)
{
	struct error err = {0};
	char path[192];
	autofree char *found = cgroup_find_below(dir_path, own, false, &err);

	snprintf(path, sizeof(path), "%s%s", dir_path, group);
	assert_non_null(found);
	assert_string_equal(found, path);
}

static void expect_none(const char *own, bool managed, const char *why)
{
	struct error err = {0};

	assert_null(cgroup_find_below(dir_path, own, managed, &err));
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, why));
}

static void the_nearest_that_can_limit_is_found(void **state)
{
	static const char both[] = "cpu memory pids\n";

	(void)state;
	/* A shell in a scope, as systemd makes it: its slice can limit. */
	put_group("", "cpu\n", "", "1\n");
	put_group("/user", both, "memory pids\n", "");
	put_group("/user/app", both, "memory pids\n", "");
	put_group("/user/app/shell", both, "", "100\n101\n");
	expect_found("/user/app/shell", "/user/app");
	/* A group without processes can be made to limit. */
	put_group("/user/app", both, "", "");
	expect_found("/user/app/shell", "/user/app");
	/* A group with processes cannot. */
	put_group("/user/app", both, "", "7\n");
	expect_found("/user/app/shell", "/user");
	/* A part of the word does not match, nor does a longer word. */
	put_group("", "", "", "1\n");
	put_group("/user", "memory_recursive pids\n", "", "");
	expect_none("/user/app/shell", false, "contains processes");
	expect_none("/user", false, "/user does not have both controllers memory and pids");
	/* The topmost may have processes. */
	put_group("", both, "", "1\n");
	expect_found("/user/app/shell", "");
	expect_found("/", "");
	/* What systemd has not given away is its own. */
	expect_none("/user/app/shell", true, "is managed by systemd and is not delegated");
	expect_none("/gone", true, "is managed by systemd and is not delegated");
}

/* With an argument it runs in a guest that is the host (tests/e2e/test_cgroup_host.py): with real
 * groups, below the named one. */
static const char *expected_place;

static void a_group_of_ours_is_made_and_left(void **state)
{
	const struct config config = {0};
	struct cgroup group = CGROUP_NONE;
	struct error err = {0};
	struct log log = {.fd = -1};
	char before[PATH_MAX], inside[PATH_MAX], after[PATH_MAX], text[32] = "";

	(void)state;
	assert_true(cgroup_own(before));
	assert_ok(cgroup_enter(&config, "vm", 256 << 20, &group, &log, &err));
	assert_non_null(group.path);
	assert_int_equal(strncmp(group.path, expected_place, strlen(expected_place)), 0);
	assert_int_equal(strncmp(group.path + strlen(expected_place), "/microagent.vm.", 15), 0);
	assert_true(cgroup_own(inside));
	assert_string_not_equal(before, inside);
	int dir = open(group.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	static const char *const limits[][2] = {{"memory.max", "268435456\n"},
						{"pids.max", "1024\n"}};
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		int fd = openat(dir, limits[i][0], O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof(text) - 1);

		assert_true(n > 0);
		text[n] = '\0';
		assert_string_equal(text, limits[i][1]);
		close(fd);
	}
	close(dir);
	char *path = strdup(group.path);
	assert_ok(cgroup_leave(&group, &err));
	assert_int_equal(access(path, F_OK), -1);
	assert_true(cgroup_own(after));
	assert_string_equal(before, after);
	free(path);
}

static bool is_not_stranger(pid_t pid, void *stranger)
{
	return pid != *(pid_t *)stranger;
}

/* A forged record names a group in which other processes are, or foreign groups. */
static void a_group_of_others_is_left(void **state)
{
	const struct config config = {0};
	struct cgroup group = CGROUP_NONE;
	struct error err = {0};
	struct log log = {.fd = -1};
	char below[PATH_MAX], said[64];
	pid_t stranger;
	int status;

	(void)state;
	assert_ok(cgroup_enter(&config, "vm", 256 << 20, &group, &log, &err));
	stranger = fork();
	if (stranger == 0)
		for (;;)
			pause();
	const struct cgroup_owner vm = {"vm", is_not_stranger, &stranger};
	assert_int_equal(cgroup_remove(group.path, &vm, 0, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	snprintf(said, sizeof(said), " contains process %d, which is not a process of",
		 (int)stranger);
	assert_non_null(strstr(err.msg, said));
	assert_true(snprintf(below, sizeof(below), "%s/below", group.path) > 0);
	assert_int_equal(mkdir(below, 0755), 0);
	assert_int_equal(cgroup_remove(group.path, &vm, 0, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	assert_non_null(strstr(err.msg, " contains other groups"));
	assert_int_equal(rmdir(below), 0);
	assert_int_equal(waitpid(stranger, &status, WNOHANG), 0);
	/* The processes in it end with it if it is known to be ours. */
	assert_ok(cgroup_leave(&group, &err));
	assert_int_equal(waitpid(stranger, &status, 0), stranger);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_is_written_or_named),
		cmocka_unit_test(only_groups_of_ours_are_removed),
		cmocka_unit_test(what_was_never_entered_is_left_and_freed),
		cmocka_unit_test(the_nearest_that_can_limit_is_found),
	};
	const struct CMUnitTest real[] = {
		cmocka_unit_test(a_group_of_ours_is_made_and_left),
		cmocka_unit_test(a_group_of_others_is_left),
	};

	if (argc > 1) {
		expected_place = argv[1];
		return cmocka_run_group_tests(real, NULL, NULL);
	}
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
