/* SPDX-License-Identifier: MIT */
/* Tests errors about fields of a request, in the words of a command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/cli.h"

static const struct cli_option options[] = {
	{"memory", 0, CLI_OPTION_INT, 0, "MIB", "memory", 0, 0},
	{"env", 'e', CLI_OPTION_LIST, 0, "KEY=VALUE", "variable", 0, 0},
	{"accelerator", 0, CLI_OPTION_STRING, 0, "NAME", "accelerator", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};
static const struct cli_command with_options = {.name = "run", .options = options};
static const struct cli_command without = {.name = "start"};

static void test_fields_become_options(void **state)
{
	static const struct {
		const char *given, *with, *without;
	} cases[] = {
		/* If the command has no such option, it was given to `create`. */
		{"config.memoryMiB must be at least 64", "--memory must be at least 64",
		 "--memory must be at least 64"},
		{"x: config.env.A is wrong", "x: --env A is wrong", "x: --env A is wrong"},
		{"config.env.A has the name of config.env.B", "--env A has the name of --env B",
		 "--env A has the name of --env B"},
		{"config.memoryMiBs is unknown", NULL, NULL},
		{"config.cpuCount is 9", "--cpus is 9", "--cpus is 9"},
		{"config.disks[0].path: /x", "the path of --disk number 1: /x",
		 "the path of --disk number 1: /x"},
		{"config.network.portForwards[11].host is", "the host of --publish number 12 is",
		 "the host of --publish number 12 is"},
		{"config.shares[0].cache is", "the cache of --share number 1 is",
		 "the cache of --share number 1 is"},
		{"pool.size is 0", NULL, NULL}, /* no option of either */
		{"config.network.portForwards need mode \"nat\" or \"bridged\", and mode is x",
		 "--publish needs --network nat or bridged, and --network is x",
		 "--publish needs --network nat or bridged, and --network is x"},
		{"memoryMiB must be more", "MIB must be more", "MIB must be more"},
		{"config.memoryMiB.largestSize is", "the largest size of --memory is",
		 "the largest size of --memory is"},
		{"config.command[0] is empty", "the command's first word is empty",
		 "the command's first word is empty"},
		{"session.diskQuota is 0", "MIB is 0", "MIB is 0"}, /* of `session quota` */
		{"config.stateDir is wrong", "--state-dir is wrong", "--state-dir is wrong"},
		{"plain", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *given = cases[i].given;
		struct error err;

		error_set(&err, ERR_INVALID, "%s", given);
		cli_name_options(&with_options, NULL, &err);
		assert_string_equal(err.msg, cases[i].with ? cases[i].with : given);
		error_set(&err, ERR_INVALID, "%s", given);
		cli_name_options(&without, NULL, &err);
		assert_string_equal(err.msg, cases[i].without ? cases[i].without : given);
	}
}

/* The typed word stands for its number, and the fault is the caller's. */
static void test_values_are_named(void **state)
{
	static const struct cli_option disk[] = {
		{"disk", 0, CLI_OPTION_LIST, 0, "DISK", "disk", 0, 0},
		{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
	};
	static const struct cli_command command = {.name = "run", .options = disk};
	const char *items[] = {"a=/x:/y:ro", "config.disks[0]", NULL};
	const struct cli_words values = {items, 2};
	struct error err;

	(void)state;
	error_set(&err, ERR_INVALID, "config.disks[0].path: no such file");
	assert_true(cli_name_options(&command, &values, &err));
	assert_string_equal(err.msg, "the path of --disk a=/x:/y:ro: no such file");
	error_set(&err, ERR_CONFLICT, "config.disks[1] is config.disks[7] and config.disks[x]");
	assert_false(cli_name_options(&command, &values, &err));
	assert_string_equal(err.msg, "--disk config.disks[0] is --disk[7] and --disk[x]");
	error_set(&err, ERR_INVALID, "disk a: config.disks");
	assert_false(cli_name_options(&command, &values, &err));
	error_set(&err, ERR_INVALID, "memoryMiB must be more"); /* a word without an option */
	assert_true(cli_name_options(&command, &values, &err));
}

static void test_an_option_that_is_given_once(void **state)
{
	static const struct cli_option share[] = {
		{"share", 0, CLI_OPTION_STRING, 0, "DIR", "directory", 0, 0},
		{"share-at", 0, CLI_OPTION_STRING, sizeof(char *), "PATH", "where", 0, 0},
		{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
	};
	static const struct cli_command command = {.name = "create", .options = share};
	const char *values[] = {"../etc", "here"};
	struct error err;

	(void)state;
	error_set(&err, ERR_INVALID, "config.shares[0].path: /etc is in /etc");
	assert_true(cli_name_options(&command, values, &err));
	assert_string_equal(err.msg, "--share ../etc: /etc is in /etc");
	error_set(&err, ERR_INVALID, "config.shares[0].mountpoint must be an absolute path");
	assert_true(cli_name_options(&command, values, &err));
	assert_string_equal(err.msg, "--share-at must be an absolute path");
	error_set(&err, ERR_UNAVAILABLE, "config.shares: no virtiofsd");
	assert_false(cli_name_options(&command, values, &err));
	assert_string_equal(err.msg, "--share: no virtiofsd");
}

/* A name that is longer than the field pushes the end of a full message out. */
static void test_a_full_message(void **state)
{
	static const char field[] = "config.user", option[] = "the command";
	struct error err = {.code = ERR_INVALID};

	(void)state;
	memset(err.msg, 'x', sizeof(err.msg) - 1);
	memcpy(err.msg, "config.command ", 15);
	cli_name_options(&with_options, NULL, &err);
	assert_memory_equal(err.msg, option, strlen(option));
	memset(err.msg, 'x', sizeof(err.msg) - 1);
	memcpy(err.msg + sizeof(err.msg) - sizeof(field), field, sizeof(field));
	cli_name_options(&with_options, NULL, &err);
	assert_true(strlen(err.msg) < sizeof(err.msg));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_become_options),
		cmocka_unit_test(test_values_are_named),
		cmocka_unit_test(test_an_option_that_is_given_once),
		cmocka_unit_test(test_a_full_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
