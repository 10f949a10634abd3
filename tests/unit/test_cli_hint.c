/* SPDX-License-Identifier: MIT */
/* Tests the table of next steps: it is complete, and names only existing commands. */
#include "test_base.h"

#include <stdio.h>
#include <string.h>

#include "cli/output/hint.h"

static void assert_hint(enum error_reason reason, const char *subject, const char *expected)
{
	struct cli cli = {0};
	char hint[HINT_ROOM];

	hint_find(&cli, reason, subject, hint);
	assert_string_equal(hint, expected);
}

/* A row that an earlier one covers can never be found. */
static bool is_covered(size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (hint_table[i].reason == hint_table[row].reason && !hint_table[i].option &&
		    (!hint_table[i].begins || (hint_table[row].begins && *hint_table[i].begins &&
					       strncmp(hint_table[row].begins, hint_table[i].begins,
						       strlen(hint_table[i].begins)) == 0)))
			return true;
	return false;
}

static void every_reason_has_a_hint_for_any_subject(void **state)
{
	(void)state;
	for (int reason = REASON_NONE + 1; reason < ERROR_REASON_COUNT; reason++) {
		bool found = false;

		for (size_t i = 0; i < hint_count; i++)
			found = found || (hint_table[i].reason == (enum error_reason)reason &&
					  !hint_table[i].begins);
		if (!found)
			fail_msg("no hint for %s", error_reason_name((enum error_reason)reason));
	}
}

static void every_hint_can_be_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < hint_count; i++) {
		assert_int_not_equal(hint_table[i].reason, REASON_NONE);
		if (is_covered(i))
			fail_msg("nothing leads to \"%s\"", hint_table[i].text);
	}
}

static const struct cli_option *find_option(const struct cli_command *command, const char *name)
{
	static const struct cli_option state_dir = {.kind = CLI_OPTION_STRING};

	if (strcmp(name, "state-dir") == 0)
		return &state_dir;
	return cli_option_find(command, name, strlen(name));
}

/* "microagent session quota {} MIB": these words must exist in the program. */
static void assert_command(const char *text)
{
	const struct cli_command *command = NULL;
	char line[HINT_ROOM], *rest = NULL, *word;

	snprintf(line, sizeof(line), "%s", text);
	word = strtok_r(line, " ", &rest);
	assert_string_equal(word, "microagent");
	while ((word = strtok_r(NULL, " ", &rest)) != NULL) {
		if (strncmp(word, "--", 2) == 0) {
			const struct cli_option *option = find_option(command, word + 2);

			if (!option)
				fail_msg("`%s`: no option %s", text, word);
			if (option->kind != CLI_OPTION_FLAG)
				strtok_r(NULL, " ", &rest);
		} else if (!command || command->sub) {
			command = cli_find(command ? command->sub : cli_commands, word);
			if (!command)
				fail_msg("`%s`: no command %s", text, word);
		} else if (!command->max_args && !command->takes_command && *word == '{') {
			fail_msg("`%s`: no word belongs there", text);
		}
	}
	if (!command || command->sub)
		fail_msg("`%s` is no whole command", text);
}

static void every_hint_names_commands_that_there_are(void **state)
{
	(void)state;
	for (size_t i = 0; i < hint_count; i++) {
		char text[HINT_ROOM], *rest = NULL;
		bool quoted = *hint_table[i].text == '`';

		snprintf(text, sizeof(text), "%s", hint_table[i].text);
		for (char *part = strtok_r(text, "`", &rest); part;
		     part = strtok_r(NULL, "`", &rest), quoted = !quoted)
			if (quoted)
				assert_command(part);
	}
}

static void placeholders_are_filled_in(void **state)
{
	char long_name[2 * HINT_ROOM], hint[HINT_ROOM];

	(void)state;
	assert_hint(REASON_NONE, "w", "");
	assert_hint(REASON_WORKSPACE_DOWN, "w", "`microagent start w` boots it");
	assert_hint(REASON_WORKSPACE_DOWN, "", "`microagent start NAME` boots it");
	assert_hint(REASON_WORKSPACE_ENDED, "{}",
		    "`microagent status {}` says how, `microagent start {}` boots it again");
	assert_hint(REASON_SESSION_DOWN, "s",
		    "`microagent session destroy s` removes it, and `microagent session create` "
		    "makes another; `microagent start s` boots this one again");
	assert_hint(REASON_NO_WORKSPACE, "session-2026-05-10T14-22-00Z-a7f3",
		    "`microagent session list` shows the sessions");
	assert_hint(REASON_NO_KERNEL, "", "`microagent setup` makes what machines boot from");
	assert_hint(REASON_NO_KERNEL, "tuned-1",
		    "`microagent kernel list` shows the kernels, `microagent kernel "
		    "build` makes one");
	assert_hint(REASON_NO_IMAGE, "", "`microagent setup` makes what machines boot from");
	assert_hint(REASON_NO_IMAGE, "debian",
		    "`microagent image list` shows the images, `microagent image build "
		    "debian` makes one");
	hint_find(&(struct cli){.state_dir_option = "/my s"}, REASON_WORKSPACE_DOWN, "w", hint);
	assert_string_equal(hint, "`microagent --state-dir '/my s' start w` boots it");
	hint_find(&(struct cli){.state_dir_option = "/s/sessions"}, REASON_WORKSPACE_DOWN, "w",
		  hint);
	assert_string_equal(hint, "`microagent start w` boots it");
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	hint_find(NULL, REASON_WORKSPACE_DOWN, long_name, hint);
	assert_int_equal(strlen(hint), HINT_ROOM - 1);
}

/* If the command has no such option the advice would be wrong. */
static void an_option_is_named_where_it_is(void **state)
{
	struct cli cli = {.command = &cli_run};
	char hint[HINT_ROOM];

	(void)state;
	hint_find(&cli, REASON_NO_KVM, "", hint);
	assert_string_equal(hint, "use --accelerator auto or tcg; `microagent doctor` says more");
	cli.command = &cli_start;
	hint_find(&cli, REASON_NO_KVM, "", hint);
	assert_string_equal(hint, "");
	hint_find(NULL, REASON_NO_KVM, "", hint);
	assert_string_equal(hint, "");
	/* Or the option is another one. */
	hint_find(&cli, REASON_NO_CELL, "w", hint);
	assert_non_null(strstr(hint, "; --unconfined makes or starts"));
	cli.command = &cli_ls;
	hint_find(&cli, REASON_NO_CELL, "w", hint);
	assert_non_null(strstr(hint, "; `microagent start --prepare --unconfined w` starts it"));
}

static void a_detail_gets_its_hint(void **state)
{
	json_auto_t *entry = json_pack("{s:s,s:s}", "name", "w", "reason", "workspace-damaged");
	char out[HINT_ROOM];

	(void)state;
	hint_add_to_detail(entry, "name", "broken", out);
	assert_string_equal(out, "broken: `microagent delete w` removes the workspace");
	json_object_del(entry, "reason");
	hint_add_to_detail(entry, "name", "broken", out);
	assert_string_equal(out, "broken");
	hint_add_to_detail(entry, "name", NULL, out);
	assert_string_equal(out, "");
}

static void a_hint_has_one_command_for_doctor(void **state)
{
	char with[] = "first `microagent list`, then `more`", without[] = "chmod it", none[] = "";

	(void)state;
	assert_string_equal(hint_command(with), "microagent list");
	assert_string_equal(hint_command(without), "chmod it");
	assert_null(hint_command(none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_a_hint_for_any_subject),
		cmocka_unit_test(every_hint_can_be_found),
		cmocka_unit_test(every_hint_names_commands_that_there_are),
		cmocka_unit_test(placeholders_are_filled_in),
		cmocka_unit_test(an_option_is_named_where_it_is),
		cmocka_unit_test(a_detail_gets_its_hint),
		cmocka_unit_test(a_hint_has_one_command_for_doctor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
