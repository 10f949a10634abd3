/* SPDX-License-Identifier: MIT */
/* Tests output for a terminal: tables that line up, and no control bytes of a guest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"

static char *printed(const struct cli_table *table)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	cli_table_print(table, out);
	fclose(out);
	return text;
}

static void test_columns_line_up(void **state)
{
	static const char *const heads[] = {"NAME", "STATE", "DETAIL"};
	static const char *const one[] = {"a", "running", "x"};
	static const char *const two[] = {"caf\xc3\xa9-longer", NULL, "two words"};
	struct cli_table table = {0};
	char *text;

	(void)state;
	assert_int_equal(cli_table_init(&table, 3, heads, NULL), 0);
	assert_int_equal(cli_table_row(&table, one, NULL), 0);
	assert_int_equal(cli_table_row(&table, two, NULL), 0);
	text = printed(&table);
	assert_string_equal(text, "NAME         STATE    DETAIL\n"
				  "a            running  x\n"
				  "caf\xc3\xa9-longer  -        two words\n");
	free(text);
	cli_table_free(&table);
}

/* Not only those of ASCII: U+009B begins what ESC [ begins, and U+202E writes backwards. */
static void test_control_characters_of_more_bytes(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	cli_print_safe(out, "a\xc2\x9b"
			    "31m\xe2\x80\xae\xe2\x81\xa6 caf\xc3\xa9 \xe2\x82\xac\xe2\x80\x93 \x9b"
			    "31m \xd8\x9c \xc2");
	fclose(out);
	assert_string_equal(text, "a?31m?? caf\xc3\xa9 \xe2\x82\xac\xe2\x80\x93 ?31m ? ?");
	free(text);
}

static void test_control_bytes_are_shown_as_marks(void **state)
{
	static const char *const heads[] = {"A"};
	static const char *const evil[] = {"x\033]0;title\007\ny\x7f"};
	struct cli_table table = {0};
	char *text;

	(void)state;
	assert_int_equal(cli_table_init(&table, 1, heads, NULL), 0);
	assert_int_equal(cli_table_row(&table, evil, NULL), 0);
	text = printed(&table);
	assert_string_equal(text, "A\nx?]0;title??y?\n");
	free(text);
	cli_table_free(&table);
}

static void test_many_rows(void **state)
{
	static const char *const heads[] = {"A", "B"};
	struct cli_table table = {0};

	(void)state;
	assert_int_equal(cli_table_init(&table, 2, heads, NULL), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(cli_table_row(&table, heads, NULL), 0);
	assert_int_equal(table.count, 2002);
	cli_table_free(&table);
}

/* A stream that is no terminal is never coloured, whatever the environment says. */
static void test_no_colour_into_a_file(void **state)
{
	FILE *file = tmpfile();

	(void)state;
	assert_non_null(file);
	unsetenv("NO_COLOR");
	setenv("TERM", "xterm", 1);
	assert_false(cli_colour(file));
	fclose(file);
}

/* The tests' stderr is no terminal, so nothing may be drawn or erased. */
static void test_progress_is_silent_without_a_terminal(void **state)
{
	struct progress progress = PROGRESS_INIT;

	(void)state;
	assert_non_null(freopen("/dev/null", "w", stderr));
	progress_start(&progress, "working");
	assert_false(progress.on);
	progress.start_ns = 0;
	progress_set(&progress, 1, 2);
	progress_detail(&progress, "file %d\033[2J", 1);
	assert_false(progress.shown);
	assert_string_equal(progress.detail, "file 1?[2J");
	progress_end(&progress);
}

static void test_usage_error(void **state)
{
	struct cli cli = {0};
	struct error err = {0};

	(void)state;
	assert_int_equal(cli_usage(&cli, &err, "no %s", "way"), -1);
	assert_true(cli.usage_error);
	assert_int_equal(err.code, ERR_INVALID);
	assert_string_equal(err.msg, "no way");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_line_up),
		cmocka_unit_test(test_control_bytes_are_shown_as_marks),
		cmocka_unit_test(test_control_characters_of_more_bytes),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_no_colour_into_a_file),
		cmocka_unit_test(test_progress_is_silent_without_a_terminal),
		cmocka_unit_test(test_usage_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
