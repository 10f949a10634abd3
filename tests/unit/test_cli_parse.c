/* SPDX-License-Identifier: MIT */
/* Tests words and their values: every kind of option, where options end, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"

struct values {
	bool flag;
	const char *text;
	int64_t number, size, time;
	struct cli_words list;
};

static const struct cli_option options[] = {
	{"flag", 'f', CLI_OPTION_FLAG, offsetof(struct values, flag), NULL, "a flag", 0, 0},
	{"text", 't', CLI_OPTION_STRING, offsetof(struct values, text), "TEXT", "a text", 0, 0},
	{"number", 0, CLI_OPTION_INT, offsetof(struct values, number), "N", "a number", 1, 100},
	{"size", 0, CLI_OPTION_SIZE, offsetof(struct values, size), "SIZE", "a size", 0, 0},
	{"time", 0, CLI_OPTION_DURATION, offsetof(struct values, time), "TIME", "a time", 0, 0},
	{"list", 0, CLI_OPTION_LIST, offsetof(struct values, list), "WORD", "words", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};
static const struct cli_command plain = {
	.name = "plain",
	.options = options,
	.values_size = sizeof(struct values),
	.min_args = 1,
	.max_args = 2,
};
/* Commands like `run` (plain_args 0) and `exec` (1). */
static const struct cli_command runner = {
	.name = "runner",
	.options = options,
	.values_size = sizeof(struct values),
	.min_args = 1,
	.max_args = SIZE_MAX,
	.takes_command = true,
};
static const struct cli_command execer = {
	.name = "execer",
	.options = options,
	.values_size = sizeof(struct values),
	.min_args = 2,
	.max_args = SIZE_MAX,
	.takes_command = true,
	.plain_args = 1,
};

struct parsed {
	struct cli cli;
	struct values values;
	struct cli_words args;
	struct error err;
	int result;
};

#define WORDS_MAX 12

static struct parsed parse(const struct cli_command *command, const char *line)
{
	static char copy[256];
	const char *words[WORDS_MAX];
	struct parsed p = {0};
	size_t count = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word && count < WORDS_MAX; word = strtok(NULL, " "))
		words[count++] = word;
	snprintf(p.cli.words, sizeof(p.cli.words), "%s", command->name);
	p.result = cli_parse(&p.cli, command, words, count, &p.values, &p.args, &p.err);
	return p;
}

static void drop(const struct cli_command *command, struct parsed *p)
{
	free(p->args.items);
	p->args.items = NULL;
	cli_values_free(command, &p->values);
}

static void test_every_kind(void **state)
{
	const char *const lines[] = {
		"--flag --text abc --number 7 --list a --list=b=c one",
		"one -f -t abc --number=7 --list=a --list b=c",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct parsed p = parse(&plain, lines[i]);

		assert_int_equal(p.result, 0);
		assert_true(p.values.flag);
		assert_string_equal(p.values.text, "abc");
		assert_int_equal(p.values.number, 7);
		assert_int_equal(p.values.list.count, 2);
		assert_string_equal(p.values.list.items[0], "a");
		assert_string_equal(p.values.list.items[1], "b=c");
		assert_null(p.values.list.items[2]);
		assert_int_equal(p.args.count, 1);
		assert_string_equal(p.args.items[0], "one");
		drop(&plain, &p);
	}
}

static void test_global_options_anywhere(void **state)
{
	struct parsed p = parse(&plain, "one --json --state-dir /d");

	(void)state;
	assert_int_equal(p.result, 0);
	assert_true(p.cli.json);
	assert_string_equal(p.cli.state_dir_option, "/d");
	drop(&plain, &p);
}

/* Every word that belongs to the guest stays unchanged, --help included. */
static void test_the_guest_command_is_left_alone(void **state)
{
	static const struct {
		const struct cli_command *command;
		const char *line;
		size_t count;
		const char *last;
	} cases[] = {
		{&runner, "--flag ls --flag --help", 3, "--help"},
		{&runner, "--flag -- ls --json", 2, "--json"},
		{&runner, "-- --flag", 1, "--flag"},
		{&runner, "ls -- x", 3, "x"},
		{&execer, "w --flag -- ls -l", 3, "-l"},
		{&execer, "--flag w ls -l", 3, "-l"},
		{&execer, "--flag w -- -- x", 3, "x"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct parsed p = parse(cases[i].command, cases[i].line);

		assert_int_equal(p.result, 0);
		assert_false(p.cli.help);
		assert_false(p.cli.json);
		assert_int_equal(p.values.flag, i == 0 || i == 1 || i >= 4);
		assert_int_equal(p.args.count, cases[i].count);
		assert_string_equal(p.args.items[p.args.count - 1], cases[i].last);
		assert_null(p.args.items[p.args.count]);
		drop(cases[i].command, &p);
	}
}

static void test_help_wins_over_missing_words(void **state)
{
	const char *const lines[] = {"--help", "-h", "a b c d --help", "--flag --help"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct parsed p = parse(&plain, lines[i]);

		assert_int_equal(p.result, 0);
		assert_true(p.cli.help);
		drop(&plain, &p);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{"", "needs more words"},
		{"a b c", "does not take the word \"c\""},
		{"a --numbr 5", "--number"},
		{"a --flg", "--flag"},
		{"a --hlep", "--help"},
		{"a --completely-else", "--help` lists"},
		{"a -x", "unknown option -x"},
		{"a -fx", "unknown option -"}, /* flags may stand together */
		{"a --flag=yes", "takes no value"},
		{"a --text", "needs a value"},
		{"a -t", "needs a value"},
		{"a -t -- b", "--text needs a value"}, /* it does not take the "--" */
		{"a --list -- b", "--list needs a value"},
		{"a --number 0", "from 1 to 100"},
		{"a --number 101", "from 1 to 100"},
		{"a --number -1", "from 1 to 100"},
		{"a --number 5x", "\"5x\""},
		{"a --number=", "whole number"},
		{"a --number 99999999999999999999", "whole number"},
		{"a --size 0", "--size must be a number of bytes"},
		{"a --size -1", "number of bytes"},
		{"a --size=", "number of bytes"},
		{"a --size 1MB", "\"1MB\""},
		{"a --size 1m", "\"1m\""},
		{"a --size M", "\"M\""},
		{"a --time 0",
		 "--time must be a time from 1s to 36525d (a hundred years), and is \"0\""},
		{"a --time 36526d", "from 1s to 36525d (a hundred years), and is \"36526d\""},
		{"a --time 3155760001", "from 1s to 36525d"},
		{"a --time 1w",
		 "--time must be a number of seconds, or a number with s, m, h or d"},
		{"a --time 1w", "\"1w\""},
		{"a --time 1hh", "\"1hh\""},
		{"a --time -1h", "\"-1h\""},
		{"a --time h", "\"h\""},
		{"a --time 9223372036854775807d", "from 1s to 36525d"},
		{"a --time 9223372036854775808", "from 1s to 36525d"},
		{"a --time=", "number of seconds"},
		{"a --size 8388608T", "number of bytes"},
		{"a --list x --nope", "--nope"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct parsed p = parse(&plain, cases[i].line);

		assert_int_equal(p.result, -1);
		assert_true(p.cli.usage_error);
		assert_int_equal(p.err.code, ERR_INVALID);
		if (!strstr(p.err.msg, cases[i].says))
			fail_msg("\"%s\": \"%s\" does not say \"%s\"", cases[i].line, p.err.msg,
				 cases[i].says);
	}
}

static void test_durations(void **state)
{
	const struct {
		const char *line;
		int64_t seconds;
	} cases[] = {{"a --time 1", 1},
		     {"a --time=90s", 90},
		     {"a --time 30m", 1800},
		     {"a --time 2h", 7200},
		     {"a --time 30d", 2592000}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct parsed p = parse(&plain, cases[i].line);

		assert_int_equal(p.result, 0);
		assert_int_equal(p.values.time, cases[i].seconds);
		cli_values_free(&plain, &p.values);
		free(p.args.items);
	}
}

static void test_sizes(void **state)
{
	static const struct {
		const char *line;
		int64_t bytes;
	} cases[] = {{"a --size 1", 1},
		     {"a --size 4096", 4096},
		     {"a --size=3K", 3072},
		     {"a --size 10M", 10485760},
		     {"a --size 2G", INT64_C(2) << 30},
		     {"a --size 8388607T", INT64_C(8388607) << 40}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct parsed p = parse(&plain, cases[i].line);

		assert_int_equal(p.result, 0);
		assert_int_equal(p.values.size, cases[i].bytes);
		cli_values_free(&plain, &p.values);
		free(p.args.items);
	}
}

static void test_global_parse_stops_at_the_command_word(void **state)
{
	const char *const words[] = {"--json", "--state-dir=/d", "run", "--help"};
	struct cli cli = {0};
	struct error err = {0};
	size_t used = 0;

	(void)state;
	assert_int_equal(cli_parse_global(&cli, words, 4, &used, &err), 0);
	assert_int_equal(used, 2);
	assert_true(cli.json);
	assert_false(cli.help);
}

static void test_nearest(void **state)
{
	static const char *const names[] = {"start",  "status", "stop", "list",
					    "delete", "ab",	"logs", NULL};
	static const struct {
		const char *word, *want;
	} cases[] = {
		{"stat", "start"},
		{"statsu", "status"},
		{"lsit", "list"},
		{"del", "delete"},
		{"delte", "delete"},
		{"sta", NULL},
		{"xy", NULL},
		{"bogus", NULL},
		{"", NULL},
		{"zzzzzz", NULL},
		{"deletion", "delete"},
		{"a-word-that-is-much-longer-than-any-name-of-ours", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *got = cli_nearest(cases[i].word, names);

		if (!cases[i].want)
			assert_null(got);
		else if (!got)
			fail_msg("%s: nothing, not %s", cases[i].word, cases[i].want);
		else
			assert_string_equal(got, cases[i].want);
	}
}

/* Tests the tables themselves: the texts of --help exist and fit a screen. */
static void check_command(const struct cli_command *command)
{
	assert_non_null(command->summary);
	assert_true(strlen(command->summary) <= 66);
	assert_true((command->run != NULL) != (command->sub != NULL));
	const struct cli_option *o;

	for (size_t i = 0; (o = cli_option_at(command, i)); i++) {
		assert_non_null(o->help);
		assert_int_equal(o->kind == CLI_OPTION_FLAG, o->value == NULL);
		assert_true(o->kind != CLI_OPTION_INT || o->min < o->max);
		assert_true(o->offset < command->values_size);
	}
}

static void test_command_tables(void **state)
{
	(void)state;
	for (size_t i = 0; cli_commands[i]; i++) {
		check_command(cli_commands[i]);
		assert_ptr_equal(cli_find(cli_commands, cli_commands[i]->name), cli_commands[i]);
		for (const struct cli_command *const *s = cli_commands[i]->sub; s && *s; s++)
			check_command(*s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_global_options_anywhere),
		cmocka_unit_test(test_the_guest_command_is_left_alone),
		cmocka_unit_test(test_help_wins_over_missing_words),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_global_parse_stops_at_the_command_word),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_command_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
