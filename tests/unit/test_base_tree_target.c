/* SPDX-License-Identifier: MIT */
/* Tests where a tree may be received. */
#include "test_base.h"

#include <sys/stat.h>

#include "base/tree/tree_stream.h"

static void what_may_be_one(void **state)
{
	const struct scratch *s = *state;
	struct tree_target target;
	struct error err;

	assert_int_equal(path_replace_file_at(s->fd, "file", "", 0, 0640, PATH_NO_SYNC, &err), 0);
	assert_int_equal(symlinkat("file", s->fd, "link"), 0);
	assert_int_equal(symlinkat("gone", s->fd, "dangling"), 0);
	mkdirat(s->fd, "dir", 0755);
	assert_int_equal(tree_target_open(s->fd, "link", false, "n", &target, &err), -1);
	assert_code(err, ERR_CONFLICT);
	assert_int_equal(tree_target_open(s->fd, "dangling", false, "n", &target, &err), -1);
	assert_int_equal(tree_target_open(s->fd, "no/where", false, "n", &target, &err), -1);
	assert_int_equal(tree_target_open(s->fd, "dir", false, "..", &target, &err), -1);
	assert_int_equal(tree_target_open(s->fd, "dir", false, "a/b", &target, &err), -1);
	assert_ok(tree_target_open(s->fd, "file", false, "n", &target, &err));
	assert_string_equal(target.name, "file");
	tree_target_close(&target);
	assert_ok(tree_target_open(s->fd, "dir", false, "n", &target, &err));
	assert_string_equal(target.name, "n");
	tree_target_close(&target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_may_be_one, scratch_make, scratch_remove),
	};

	return cmocka_run_group_tests_name("targets of trees", tests, NULL, NULL);
}
