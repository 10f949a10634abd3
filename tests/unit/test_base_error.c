/* SPDX-License-Identifier: MIT */
#include "test_base.h"

#include <errno.h>

static void names_go_both_ways(void **state)
{
	(void)state;
	for (int i = ERR_NONE; i < ERROR_CODE_COUNT; i++)
		assert_int_equal(error_code_from_name(error_code_name((enum error_code)i)), i);
	assert_string_equal(error_code_name(ERR_NOT_FOUND), "not-found");
	assert_string_equal(error_code_name((enum error_code)99), "internal");
	assert_int_equal(error_code_from_name("nonsense"), ERR_INTERNAL);
	assert_int_equal(error_code_from_name(""), ERR_INTERNAL);
	assert_int_equal(error_code_from_name(NULL), ERR_INTERNAL);
}

static void reasons_go_both_ways(void **state)
{
	(void)state;
	for (int i = REASON_NONE; i < ERROR_REASON_COUNT; i++)
		assert_int_equal(error_reason_from_name(error_reason_name((enum error_reason)i)),
				 i);
	assert_string_equal(error_reason_name(REASON_NO_WORKSPACE), "no-workspace");
	assert_string_equal(error_reason_name((enum error_reason)9999), "none");
	assert_int_equal(error_reason_from_name("nonsense"), REASON_NONE);
	assert_int_equal(error_reason_from_name(NULL), REASON_NONE);
}

static void a_reason_is_of_one_error(void **state)
{
	struct error err, copy = {0};
	char path[sizeof(err.subject) + 1];

	(void)state;
	error_set(&err, ERR_CONFLICT, "busy");
	assert_int_equal(err.reason, REASON_NONE);
	assert_int_equal(error_reason(&err, REASON_WORKSPACE_ALIVE, "w"), -1);
	assert_int_equal(error_reason(&err, err.reason, err.subject), -1);
	error_prefix(&err, "delete");
	error_copy(&copy, &err);
	assert_int_equal(copy.reason, REASON_WORKSPACE_ALIVE);
	assert_string_equal(copy.subject, "w");
	assert_string_equal(copy.msg, "delete: busy");
	error_set(&copy, ERR_IO, "%s ended", copy.subject);
	assert_string_equal(copy.msg, "w ended");
	assert_int_equal(copy.reason, REASON_NONE);
	assert_string_equal(copy.subject, "");
	error_errno(&err, ENOENT, "x");
	assert_int_equal(err.reason, REASON_NONE);
	/* The beginning of a path would be another path. */
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	error_reason(&err, REASON_NO_INITRD, path);
	assert_string_equal(err.subject, "");
	error_reason(&err, REASON_NO_INITRD, path + 1);
	assert_string_equal(err.subject, path + 1);
	assert_int_equal(error_reason(NULL, REASON_NO_INITRD, path), -1);
}

static void errno_decides_the_code(void **state)
{
	static const struct {
		int errnum;
		enum error_code code;
	} rows[] = {
		{ENOENT, ERR_NOT_FOUND},   {EACCES, ERR_DENIED},  {EPERM, ERR_DENIED},
		{EEXIST, ERR_CONFLICT},	   {EBUSY, ERR_CONFLICT}, {ETIMEDOUT, ERR_TIMEOUT},
		{EAGAIN, ERR_UNAVAILABLE}, {EIO, ERR_IO},	  {ENOSPC, ERR_IO},
		{ENOMEM, ERR_IO},
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(error_errno(&err, rows[i].errnum, "x"), -1);
		assert_code(err, rows[i].code);
		assert_int_equal(err.errnum, rows[i].errnum);
	}
	error_errno(&err, EMFILE, "pipe");
	assert_int_equal(err.reason, REASON_TOO_MANY_FILES);
	error_errno(&err, ENOENT, "open %s", "a");
	assert_int_equal(err.reason, REASON_NONE);
	assert_string_equal(err.msg, "open a: No such file or directory");
	error_errno(&err, 99999, "odd");
	assert_string_equal(err.msg, "odd: error 99999");
}

static void set_forgets_errno(void **state)
{
	struct error err;

	(void)state;
	error_errno(&err, EIO, "x");
	assert_int_equal(error_set(&err, ERR_INVALID, "%d%%", 7), -1);
	assert_int_equal(err.errnum, 0);
	assert_string_equal(err.msg, "7%");
}

static void prefix_goes_in_front(void **state)
{
	struct error err;

	(void)state;
	error_errno(&err, EACCES, "open");
	assert_int_equal(error_prefix(&err, "image %s", "i"), -1);
	assert_string_equal(err.msg, "image i: open: Permission denied");
	assert_code(err, ERR_DENIED);
	assert_int_equal(err.errnum, EACCES);
}

static void own_text_may_be_an_argument(void **state)
{
	struct error err;

	(void)state;
	error_set(&err, ERR_IO, "first");
	error_set(&err, ERR_IO, "again %s", err.msg);
	assert_string_equal(err.msg, "again first");
	error_prefix(&err, "%s", err.msg);
	assert_string_equal(err.msg, "again first: again first");
}

static void nobody_need_listen(void **state)
{
	(void)state;
	assert_int_equal(error_set(NULL, ERR_IO, "x"), -1);
	assert_int_equal(error_errno(NULL, EIO, "x"), -1);
	assert_int_equal(error_prefix(NULL, "x"), -1);
}

/* Whatever is cut, the text stays NUL-terminated and valid UTF-8. */
static void long_text_is_cut_between_characters(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
	} characters[] = {{"a", 1}, {"\xc3\xa9", 2}, {"\xe2\x82\xac", 3}, {"\xf0\x9f\x98\x80", 4}};
	struct error err;
	char text[1200];

	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(characters); c++)
		for (size_t fill = 1000; fill < 1030; fill++) {
			size_t n = characters[c].bytes;
			memset(text, 'x', fill);
			for (size_t i = 0; i < 40; i++)
				memcpy(text + fill + i * n, characters[c].text, n);
			text[fill + 40 * n] = '\0';
			error_set(&err, ERR_IO, "%s", text);
			size_t want = fill > 1023 ? 1023 : fill + (1023 - fill) / n * n;
			assert_int_equal(strlen(err.msg), want);
			error_prefix(&err, "p");
			assert_true(strlen(err.msg) <= 1023);
			assert_memory_equal(err.msg, "p: xxx", 6);
			assert_true(strlen(err.msg) > 1019);
		}
}

static void long_prefix_and_path_do_not_overflow(void **state)
{
	struct error err;
	char path[2000];

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	error_errno(&err, EIO, "%s", path);
	assert_int_equal(strlen(err.msg), 1023);
	for (int i = 0; i < 10; i++)
		error_prefix(&err, "%s", path);
	assert_int_equal(strlen(err.msg), 1023);
	/* there are bytes that are not UTF-8 at all are kept */
	memset(path, '\x80', sizeof(path) - 1);
	error_set(&err, ERR_IO, "%s", path);
	assert_int_equal(strlen(err.msg), 1023);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_go_both_ways),
		cmocka_unit_test(reasons_go_both_ways),
		cmocka_unit_test(a_reason_is_of_one_error),
		cmocka_unit_test(errno_decides_the_code),
		cmocka_unit_test(set_forgets_errno),
		cmocka_unit_test(prefix_goes_in_front),
		cmocka_unit_test(own_text_may_be_an_argument),
		cmocka_unit_test(nobody_need_listen),
		cmocka_unit_test(long_text_is_cut_between_characters),
		cmocka_unit_test(long_prefix_and_path_do_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
