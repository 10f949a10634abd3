/* SPDX-License-Identifier: MIT */
/* Tests the reader of the list of a reviewed directory's files. */
#include "test_base.h"

#include <limits.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "store/review/list.h"

#define D0 "0000000000000000000000000000000000000000000000000000000000000000"
#define D1 "00000000000000000000000000000000000000000000000000000000000000ff"

/* Reads the records, in which a '|' stands for a NUL. Returns what review_list_read() returns. */
static int read_text(const char *text, size_t len, struct review_list *out, struct error *err)
{
	autofree char *bytes = malloc(len + 1);
	int result;

	for (size_t i = 0; i < len; i++)
		bytes[i] = text[i] == '|' ? '\0' : text[i];
	autoclose int fd = fd_memfd("list", bytes, len, err);
	assert_true(fd >= 0);
	result = review_list_read(fd, out, err);
	return result;
}

static void a_list_is_read(void **state)
{
	static const char text[] = "microagent-review-list 1|"
				   "d 755 0 5 -7 1 2 - a|"
				   "f 4644 12 1700000000000000001 0 1 3 " D1 " a b\n|"
				   "l 777 3 1 2 18446744073709551615 4 " D0 " a-b|"
				   "f 644 0 1 2 1 5 " D0 " a/x|"
				   "s 644 0 1 2 1 6 - a/y|"
				   "end 5|";
	auto_review_list struct review_list list = {0};
	struct error err = {0};
	size_t from, to;

	(void)state;
	assert_ok(read_text(text, sizeof(text) - 1, &list, &err));
	assert_int_equal(list.count, 5);
	assert_int_equal(list.entries[0].ctime, -7);
	assert_int_equal(list.entries[0].parent, REVIEW_ROOT);
	assert_string_equal(list.entries[1].path, "a b\n");
	assert_int_equal(list.entries[1].mode, 04644);
	assert_int_equal(list.entries[1].mtime, 1700000000000000001);
	assert_int_equal(list.entries[1].digest[31], 0xff);
	assert_true(list.entries[2].dev == UINT64_MAX);
	/* Other files are between a directory and the files in it. */
	assert_int_equal(list.entries[3].parent, 0);
	assert_int_equal(review_list_find(&list, "a/x"), 3);
	assert_int_equal(review_list_find(&list, "a"), 0);
	assert_int_equal(review_list_find(&list, ""), REVIEW_ROOT);
	assert_int_equal(review_list_find(&list, "a/"), REVIEW_NONE);
	assert_int_equal(review_list_find(&list, "z"), REVIEW_NONE);
	/* It was left out of the image. */
	assert_int_equal(review_list_find(&list, "a/y"), REVIEW_NONE);
	review_list_below(&list, "a", &from, &to);
	assert_int_equal(from, 3);
	assert_int_equal(to, 5);
	review_list_below(&list, "a-b", &from, &to);
	assert_int_equal(from, to);
	review_list_below(&list, "", &from, &to);
	assert_int_equal(to - from, 5);
}

static void a_damaged_list_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"microagent-review-list 1",
		"microagent-review-list 2|end 0|",
		"microagent-review-list 1|",
		"microagent-review-list 1|end 1|",
		"microagent-review-list 1|end 0|end 0|",
		"microagent-review-list 1|end 00|",
		"microagent-review-list 1|f 644 0 1 2 1 5 - x|end 1|",
		"microagent-review-list 1|f 644 0 1 2 1 5 " D0 "|end 1|",
		"microagent-review-list 1|f 644 0 1 2 1 5 " D0 " |end 1|",
		"microagent-review-list 1|f 10000 0 1 2 1 5 " D0 " x|end 1|",
		"microagent-review-list 1|f 648 0 1 2 1 5 " D0 " x|end 1|",
		"microagent-review-list 1|f 644 9223372036854775808 1 2 1 5 " D0 " x|end 1|",
		"microagent-review-list 1|f 644 0 1 2 1 18446744073709551616 " D0 " x|end 1|",
		"microagent-review-list 1|f 644 0 1 2 1 -5 " D0 " x|end 1|",
		"microagent-review-list 1|f 644 0 1  2 1 5 " D0 " x|end 1|",
		"microagent-review-list 1|x 644 0 1 2 1 5 " D0 " x|end 1|",
		"microagent-review-list 1|f 644 0 1 2 1 5 " D0 " /x|end 1|",
		"microagent-review-list 1|f 644 0 1 2 1 5 " D0 " ../x|end 1|",
		"microagent-review-list 1|f 644 0 1 2 1 5 " D0 " x/.|end 1|",
		/* the order, a path that comes twice, and directories that are missing */
		"microagent-review-list 1|d 755 0 1 2 1 5 - b|d 755 0 1 2 1 5 - a|end 2|",
		"microagent-review-list 1|d 755 0 1 2 1 5 - a|d 755 0 1 2 1 5 - a|end 2|",
		"microagent-review-list 1|d 755 0 1 2 1 5 - a/b|end 1|",
		"microagent-review-list 1|l 755 0 1 2 1 5 " D0 " a|d 755 0 1 2 1 5 - a/b|end 2|",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct review_list list = {.count = 7};
		struct error err = {0};

		if (read_text(texts[i], strlen(texts[i]), &list, &err) != -1)
			fail_msg("\"%s\" was read", texts[i]);
		assert_code(err, ERR_IO);
		assert_int_equal(list.count, 7);
	}
}

static void the_number_of_files_is_bounded(void **state)
{
	static const char text[] =
		"microagent-review-list 1|d 755 0 1 2 1 5 - a|d 755 0 1 2 1 5 - b|end 2|";
	auto_review_list struct review_list list = {0};
	struct error err = {0};

	(void)state;
	limit_set(LIMIT_REVIEW_FILES, 1);
	assert_int_equal(read_text(text, sizeof(text) - 1, &list, &err), -1);
	limit_reset(LIMIT_REVIEW_FILES);
	limit_set(LIMIT_REVIEW_LIST_BYTES, 30);
	assert_int_equal(read_text(text, sizeof(text) - 1, &list, &err), -1);
	limit_reset(LIMIT_REVIEW_LIST_BYTES);
}

static void a_long_list_is_read_quickly(void **state)
{
	autobuf struct buf text = BUF_INIT(0);
	auto_review_list struct review_list list = {0};
	struct error err = {0};

	(void)state;
	assert_ok(buf_printf(&text, &err, "microagent-review-list 1|d 755 0 1 2 1 5 - a|"));
	for (int i = 0; i < 200000; i++)
		assert_ok(buf_printf(&text, &err, "f 644 0 1 2 1 5 " D0 " a/%06d|", i));
	assert_ok(buf_printf(&text, &err, "end 200001|"));
	uint64_t began = clock_mono_ns();
	assert_ok(read_text((const char *)buf_bytes(&text), text.len, &list, &err));
	assert_true(clock_mono_ns() - began < 20 * NS_PER_S);
	assert_int_equal(list.entries[200000].parent, 0);
}

static void unclean_paths_are_known(void **state)
{
	char path[PATH_MAX + 1];

	(void)state;
	assert_true(review_path_is_clean("a"));
	assert_true(review_path_is_clean("a/..b/\x1b\n\xff"));
	for (const char *const *at = (const char *const[]){"", "/", "/a", "a/", "a//b", ".", "..",
							   "a/..", "a/./b", "../a", NULL};
	     *at; at++)
		assert_false(review_path_is_clean(*at));
	memset(path, 'a', sizeof(path));
	path[NAME_MAX] = '\0';
	assert_true(review_path_is_clean(path));
	path[NAME_MAX] = 'a';
	path[NAME_MAX + 1] = '\0';
	assert_false(review_path_is_clean(path));
	for (size_t i = 0; i < PATH_MAX; i++)
		path[i] = i % 200 == 199 ? '/' : 'a';
	path[PATH_MAX] = '\0';
	assert_false(review_path_is_clean(path));
	path[PATH_MAX - 1] = '\0';
	assert_true(review_path_is_clean(path));
	for (size_t i = 0; i < 600; i++)
		path[i] = i % 2 ? '/' : 'a';
	path[599] = '\0';
	assert_false(review_path_is_clean(path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_read),
		cmocka_unit_test(a_damaged_list_is_refused),
		cmocka_unit_test(the_number_of_files_is_bounded),
		cmocka_unit_test(a_long_list_is_read_quickly),
		cmocka_unit_test(unclean_paths_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
