/* SPDX-License-Identifier: MIT */
/* Tests tables of options: what is accepted, and how errors name the fault. */
#include "test_base.h"

#include "base/command_line.h"
#include "base/platform/linux/isolate.h"

struct target {
	int fd;
	const char *text;
	struct isolate_identity identity;
	unsigned flags;
	bool given;
};

static int count_flag(void *field, const char *value, struct error *err)
{
	(void)err;
	assert_null(value);
	++*(unsigned *)field;
	return 0;
}

#define AT(field) offsetof(struct target, field)

static const struct option_row rows[] = {
	{"fd", "N", option_fd, AT(fd), "a descriptor"},
	{"text", "TEXT", option_text, AT(text), "a text"},
	{"uid", "N", option_uid, AT(identity), "a user"},
	{"gid", "N", option_gid, AT(identity), "a group"},
	{"an-option-with-a-long-name", "TEXT", option_ignore, 0, "nothing"},
	{"flag", NULL, count_flag, AT(flags), "a flag"},
	{"given", NULL, option_given, AT(given), "a word"},
	{"caller", "VERSION", option_caller, 0, "a version"},
};

#define WORDS 8

static char *argv[WORDS + 2]; /* of which no word is written to */

static int parse_words(struct target *t, const char *const *words, size_t *others,
		       struct error *err)
{
	int argc = 1;

	memset(argv, 0, sizeof(argv));
	argv[0] = (char *)(uintptr_t) "daemon";

	for (; words[argc - 1]; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
	*t = (struct target){.fd = -1};
	*err = (struct error){0};
	return command_line_parse(rows, ARRAY_SIZE(rows), argc, argv, t, others, err);
}

static int parse(struct target *t, const char *const *words, struct error *err)
{
	return parse_words(t, words, NULL, err);
}

static void values_reach_their_fields(void **state)
{
	static const char *const words[] = {"--fd=7", "--text", "--flag",  "--flag",
					    "--uid",  "1000",	"--given", NULL};
	static const char *const others[] = {"--gid",
					     "4294967294",
					     "--fd",
					     "1",
					     "--fd=2147483647",
					     "--an-option-with-a-long-name",
					     "x",
					     NULL};
	struct target t;
	struct error err;

	(void)state;
	assert_ok(parse(&t, words, &err));
	assert_int_equal(t.fd, 7);
	assert_string_equal(t.text, "--flag"); /* a value, whatever it looks like */
	assert_int_equal(t.flags, 1);
	assert_true(t.given);
	assert_true(t.identity.set_uid && t.identity.uid == 1000 && !t.identity.set_gid);
	assert_ok(parse(&t, others, &err));
	assert_int_equal(t.fd, INT32_MAX); /* the last one wins */
	assert_true(t.identity.set_gid && t.identity.gid == UINT32_MAX - 1 && !t.identity.set_uid);
	assert_null(t.text);
	assert_false(t.given);
}

static void no_words_at_all(void **state)
{
	static const char *const words[] = {NULL};
	struct target t;
	struct error err;

	(void)state;
	assert_ok(parse(&t, words, &err));
	assert_int_equal(t.fd, -1);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *words[WORDS];
		const char *message;
	} cases[] = {
		{{"--none"}, "unknown option --none: --help lists the options"},
		{{"--none=1"}, "unknown option --none=1: --help lists the options"},
		{{"--fla"}, "unknown option --fla: --help lists the options"},
		{{"--flags"}, "unknown option --flags: --help lists the options"},
		{{"-f"}, "unknown option -f: --help lists the options"},
		{{"-xflag"}, "unknown option -xflag: --help lists the options"},
		{{"--="}, "unknown option --=: --help lists the options"},
		{{"-"}, "unknown option -: --help lists the options"},
		{{"--fd"}, "--fd needs a value: give one"},
		{{"--flag=1"}, "--flag takes no value: leave the value out"},
		{{"--flag="}, "--flag takes no value: leave the value out"},
		{{"word"}, "unknown option word: --help lists the options"},
		{{"--flag", "--", "word"}, "unknown option word: --help lists the options"},
		{{"--fd", ""}, "--fd: '' is not a number from 0 to 2147483647"},
		{{"--fd", "+1"}, "--fd: '+1' is not a number from 0 to 2147483647"},
		{{"--fd", " 1"}, "--fd: ' 1' is not a number from 0 to 2147483647"},
		{{"--fd", "1x"}, "--fd: '1x' is not a number from 0 to 2147483647"},
		{{"--fd", "2147483648"}, "--fd: '2147483648' is not a number from 0 to 2147483647"},
		{{"--uid", "4294967295"},
		 "--uid: '4294967295' is not a number from 0 to 4294967294"},
		{{"--gid", "99999999999999999999"},
		 "--gid: '99999999999999999999' is not a number from 0 to 4294967294"},
	};
	struct target t;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(&t, cases[i].words, &err), -1);
		assert_code(err, ERR_INVALID);
		assert_string_equal(err.msg, cases[i].message);
		assert_int_equal(t.fd, -1);
		assert_false(t.identity.set_uid || t.identity.set_gid);
	}
}

/* Wherever they stand, and in their order. */
static void other_words_come_first(void **state)
{
	static const char *const words[] = {"one",     "--fd", "7",	 "-",
					    "--given", "--",   "--flag", NULL};
	struct target t;
	struct error err;
	size_t n = 9;

	(void)state;
	assert_ok(parse_words(&t, words, &n, &err));
	assert_int_equal(n, 3);
	assert_string_equal(argv[1], "one");
	assert_string_equal(argv[2], "-");
	assert_string_equal(argv[3], "--flag");
	assert_int_equal(t.fd, 7);
	assert_true(t.given);
	assert_int_equal(t.flags, 0);
	assert_ok(parse_words(&t, words + 7, &n, &err));
	assert_int_equal(n, 0);
}

static void numbers_have_bounds(void **state)
{
	struct error err = {0};
	uint64_t n = 5;

	(void)state;
	assert_int_equal(command_line_number("2", 3, 4, &n, &err), -1);
	assert_int_equal(command_line_number("5", 3, 4, &n, &err), -1);
	assert_string_equal(err.msg, "'5' is not a number from 3 to 4");
	assert_int_equal(n, 5); /* untouched */
	assert_ok(command_line_number("3", 3, 4, &n, &err));
	assert_int_equal(n, 3);
	assert_ok(command_line_number("18446744073709551615", 0, UINT64_MAX, &n, &err));
	assert_true(n == UINT64_MAX);
}

/* Returns the text that is written to stdout. */
static void read_help(char *out, size_t size)
{
	int pipes[2], stdout_before = dup(STDOUT_FILENO);
	ssize_t n;

	assert_int_equal(pipe(pipes), 0);
	fflush(stdout);
	dup2(pipes[1], STDOUT_FILENO);
	command_line_help(rows, ARRAY_SIZE(rows));
	fflush(stdout);
	dup2(stdout_before, STDOUT_FILENO);
	close(stdout_before);
	close(pipes[1]);
	n = read(pipes[0], out, size - 1);
	close(pipes[0]);
	assert_true(n > 0);
	out[n] = '\0';
}

static void a_caller_is_of_the_same_version(void **state)
{
	static const char *const same[] = {"--caller", MICROAGENT_VERSION, NULL};
	static const char *const other[] = {"--caller=0.0.9", "--of-the-other", NULL};
	struct target t;
	struct error err;

	(void)state;
	assert_ok(parse(&t, same, &err));
	assert_int_equal(parse(&t, other, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "--caller: microagent 0.0.9 has started this program"));
	assert_non_null(
		strstr(err.msg, "program of microagent " MICROAGENT_VERSION ": another version"));
}

static void the_help_is_aligned(void **state)
{
	char help[1024];

	(void)state;
	read_help(help, sizeof(help));
	assert_string_equal(help, "  --fd N                 a descriptor\n"
				  "  --text TEXT            a text\n"
				  "  --uid N                a user\n"
				  "  --gid N                a group\n"
				  "  --an-option-with-a-long-name TEXT nothing\n"
				  "  --flag                 a flag\n"
				  "  --given                a word\n"
				  "  --caller VERSION       a version\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_reach_their_fields),
		cmocka_unit_test(no_words_at_all),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(other_words_come_first),
		cmocka_unit_test(numbers_have_bounds),
		cmocka_unit_test(a_caller_is_of_the_same_version),
		cmocka_unit_test(the_help_is_aligned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
