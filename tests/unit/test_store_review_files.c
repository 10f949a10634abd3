/* SPDX-License-Identifier: MIT */
/* Tests the names of the files of a reviewed directory. */
#include "test_base.h"

#include "store/review_files.h"

static void names(void **state)
{
	static const struct {
		const char *file;
		bool is_file, is_of_a;
	} rows[] = {
		{"bundle-a.ext4", true, true},	  {"bundle-a.list", true, true},
		{"bundle-a.upper", true, true},	  {"bundle-a.taken", true, true},
		{"bundle-a.taking", true, true},  {"bundle-a-0.ext4", true, false},
		{"bundle-ab.upper", true, false}, {"bundle-a.ext4.ext4", true, false},
		{"bundle-.ext4", false, false},	  {"bundle-a.ext", false, false},
		{"bundle-a", false, false},	  {"xbundle-a.ext4", false, false},
		{"bundle-a.ext4x", false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(review_is_file(rows[i].file), rows[i].is_file);
		assert_int_equal(review_is_file_of(rows[i].file, "a"), rows[i].is_of_a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
