/* SPDX-License-Identifier: MIT */
/* Tests that the rest of a workspace whose maker was killed is removed, and nothing else. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/api.h"
#include "base/path.h"

struct rig {
	char path[64];
	struct state_dir dir;
};

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	strcpy(rig->path, "/tmp/test_api_making.XXXXXX");
	if (!mkdtemp(rig->path))
		return -1;
	*state = rig;
	return state_dir_open(rig->path, true, &rig->dir, NULL);
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	state_dir_close(&rig->dir);
	path_remove_tree_at(AT_FDCWD, rig->path, NULL);
	free(rig);
	return 0;
}

static void touch(const struct rig *rig, const char *name)
{
	int fd = openat(rig->dir.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static bool exists(const struct rig *rig, const char *name)
{
	return faccessat(rig->dir.fd, name, F_OK, 0) == 0;
}

/* Makes <name> as a maker does, in a process that then dies. */
static void killed_maker(const struct rig *rig, const char *name)
{
	struct workspace ws = {.fd = -1};
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(unfinished_mark(&rig->dir, name, NULL) < 0 ||
		      workspace_open(&rig->dir, name, true, &ws, NULL) < 0 ||
		      unfinished_own(&ws, NULL) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Acts as a maker that finds its name taken. */
static void killed_before_mkdir(const struct rig *rig, const char *name)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(unfinished_mark(&rig->dir, name, NULL) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_only_the_abandoned_goes(void **state)
{
	struct rig *rig = *state;
	struct workspace mine = {.fd = -1};
	struct error err = {0};
	int mark;

	killed_maker(rig, "dead");
	touch(rig, "dead/rootfs.ext4");
	killed_maker(rig, "recorded");
	touch(rig, "recorded/workspace.json");
	killed_maker(rig, "alive");
	touch(rig, "alive/lease");
	assert_int_equal(mkdirat(rig->dir.fd, "notes", 0700), 0);
	touch(rig, "notes/rootfs.ext4");
	killed_before_mkdir(rig, "notes");
	killed_before_mkdir(rig, "nothing");
	killed_before_mkdir(rig, "empty");
	assert_int_equal(mkdirat(rig->dir.fd, "empty", 0700), 0);
	mark = unfinished_mark(&rig->dir, "making", &err);
	assert_true(mark >= 0);
	assert_int_equal(workspace_open(&rig->dir, "making", true, &mine, NULL), 0);
	assert_int_equal(unfinished_own(&mine, NULL), 0);
	assert_int_equal(unfinished_mark(&rig->dir, "making", &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);

	unfinished_sweep(&rig->dir);
	assert_false(exists(rig, "dead"));
	assert_true(exists(rig, "recorded/workspace.json"));
	assert_true(exists(rig, "alive/lease"));
	assert_true(exists(rig, "notes/rootfs.ext4"));
	assert_false(exists(rig, "empty"));
	assert_true(exists(rig, "making"));
	assert_true(exists(rig, ".locks/.making/making"));

	unfinished_disown(&mine);
	assert_int_equal(unfinished_unmark(&rig->dir, "making", NULL), 0);
	close(mark);
	unfinished_sweep(&rig->dir);
	assert_true(exists(rig, "making"));
	assert_false(exists(rig, ".locks/.making"));
	workspace_close(&mine);
}

/* A link in the state directory is not followed. */
static void test_links_are_not_followed(void **state)
{
	struct rig *rig = *state;
	char target[] = "/tmp/test_api_making_target.XXXXXX";
	int fd;

	assert_non_null(mkdtemp(target));
	fd = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(symlinkat(target, rig->dir.fd, "link"), 0);
	killed_before_mkdir(rig, "link");
	close(openat(fd, ".making", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	unfinished_sweep(&rig->dir);
	assert_int_equal(faccessat(fd, ".making", F_OK, 0), 0);
	close(fd);
	path_remove_tree_at(AT_FDCWD, target, NULL);
}

/* A sweep in a process without free descriptors removes nothing, and forgets nothing. */
static void test_what_cannot_be_looked_at_stays(void **state)
{
	struct rig *rig = *state;
	struct rlimit before, none;

	killed_maker(rig, "dead");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(unfinished_remove(&rig->dir, "dead"), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(exists(rig, "dead"));
	assert_int_equal(unfinished_remove(&rig->dir, "dead"), 0);
	assert_false(exists(rig, "dead"));
	assert_int_equal(unfinished_remove(&rig->dir, "dead"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_only_the_abandoned_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_links_are_not_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_looked_at_stays, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
