/* SPDX-License-Identifier: MIT */
/* Tests subordinate ids, and the user namespace that is made of them. */
#include "test_base.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/parts/idmap.h"
#include "base/platform/linux/subids.h"

static void the_first_range_of_a_user_counts(void **state)
{
	static const char text[] = "root:100000:65536\nann:165536:65536\n1001:231072:65536\n"
				   "ann:900000:1\n";

	(void)state;
	assert_int_equal(subids_first(text, "ann", 1000), 165536);
	assert_int_equal(subids_first(text, "bob", 1001), 231072);
	assert_int_equal(subids_first(text, "root", 0), 100000);
	assert_int_equal(subids_first(text, "an", 7), 0);
	assert_int_equal(subids_first(text, "anna", 7), 0);
	assert_int_equal(subids_first("", "ann", 7), 0);
}

static void damaged_lines_give_nothing(void **state)
{
	static const char *const texts[] = {"ann",	 "ann:",      "ann:x:1\n", "ann:5",
					    "ann:0:5\n", "ann:5:0\n", ":5:5\n",	   "ann 5 5\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(subids_first(texts[i], "ann", 7), 0);
}

static void a_namespace_is_a_descriptor(void **state)
{
	struct error err = {0};
	struct idmap map;
	struct stat ours, made;
	int fd = -1;

	(void)state;
	if (idmap_find(-1, &map, &err) < 0) {
		print_message("skipped: %s\n", err.msg);
		skip();
	}
	assert_int_equal(map.agent_uid, geteuid());
	assert_int_not_equal(map.root_uid, geteuid());
	if (idmap_namespace(&map, &fd, &err) < 0) {
		print_message("skipped: %s\n", err.msg);
		skip();
	}
	assert_int_equal(stat("/proc/self/ns/user", &ours), 0);
	assert_int_equal(fstat(fd, &made), 0);
	assert_true(ours.st_dev == made.st_dev && ours.st_ino != made.st_ino);
	close(fd);
}

/* One id for each directory, the same each time, and none of a cell or of a person. */
static void root_has_one_for_each_directory(void **state)
{
	const struct stat one = {.st_dev = 1, .st_ino = 2}, other = {.st_dev = 1, .st_ino = 3},
			  elsewhere = {.st_dev = 2, .st_ino = 2};

	(void)state;
	assert_int_equal(idmap_own(&one), idmap_own(&one));
	assert_int_not_equal(idmap_own(&one), idmap_own(&other));
	assert_int_not_equal(idmap_own(&one), idmap_own(&elsewhere));
	assert_true(idmap_own(&one) < 1900000000ul && idmap_own(&one) > 1879048192ul);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_has_one_for_each_directory),
		cmocka_unit_test(the_first_range_of_a_user_counts),
		cmocka_unit_test(damaged_lines_give_nothing),
		cmocka_unit_test(a_namespace_is_a_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
