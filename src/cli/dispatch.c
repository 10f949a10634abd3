/* SPDX-License-Identifier: MIT */
/* Finds the command that the command line names, and runs it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"

/* clang-format off */ /* a row each */
const struct cli_command *const cli_commands[] = {
	&cli_run,
	&cli_exec,
	&cli_session,
	&cli_mcp,
	&cli_connect,
	&cli_cp,
	&cli_ls,
	&cli_create,
	&cli_start,
	&cli_stop,
	&cli_halt,
	&cli_kill,
	&cli_quarantine,
	&cli_clone,
	&cli_delete,
	&cli_balloon,
	&cli_list,
	&cli_status,
	&cli_artifacts,
	&cli_changes,
	&cli_inspect,
	&cli_result,
	&cli_network,
	&cli_logs,
	&cli_events,
	&cli_audit,
	&cli_setup,
	&cli_doctor,
	&cli_perf,
	&cli_host,
	&cli_profiles,
	&cli_contract,
	&cli_kernel,
	&cli_image,
	&cli_guest_bundle,
	&cli_base,
	&cli_pool,
	&cli_version,
	&cli_help,
	NULL,
};
/* clang-format on */

#define COMMANDS_MAX 48

static int unknown_command(struct cli *cli, const char *parent,
			   const struct cli_command *const *commands, const char *word,
			   struct error *err)
{
	const char *names[COMMANDS_MAX];
	const char *near;
	size_t count = 0;

	for (; *commands && count + 1 < COMMANDS_MAX; commands++)
		names[count++] = (*commands)->name;
	names[count] = NULL;
	near = cli_nearest(word, names);
	if (near)
		return cli_usage(cli, err, "unknown command \"%s\": did you mean \"%s%s%s\"?", word,
				 parent, *parent ? " " : "", near);
	return cli_usage(cli, err,
			 "unknown command \"%s\": `microagent %s%s--help` lists the commands", word,
			 parent, *parent ? " " : "");
}

static int run_command(struct cli *cli, const char *parent, const struct cli_command *command,
		       const char *const *words, size_t count, struct error *err)
{
	struct cli_words args = {0};
	struct error why = {0};
	int code = 0;
	autofree void *values = calloc(1, command->values_size ? command->values_size : 1);

	if (!values)
		return error_errno(err, errno, "command line");
	snprintf(cli->words, sizeof(cli->words), "%s%s%s", parent, *parent ? " " : "",
		 command->name);
	cli->command = command;
	if (cli_parse(cli, command, words, count, values, &args, err) < 0)
		return -1;
	if (cli->help)
		cli_print_help(stdout, *parent ? parent : NULL, command);
	else if (cli->state_dir_option && !*cli->state_dir_option)
		code = cli_usage(cli, err, "--state-dir is empty");
	else if (args.count > 0 && command->check_name &&
		 command->check_name(args.items[0], &why) < 0)
		code = cli_usage_error(cli, &why, err);
	else if (command->guest_exit && cli->stdout_closed)
		code = error_set(
			err, ERR_INVALID,
			"stdout is closed, and the command's output would be lost: open it, or write >/dev/null");
	else
		code = command->run(cli, values, &args, err);
	if (code < 0 && err && cli_name_options(command, values, err))
		cli->usage_error = true;
	free(args.items);
	cli_values_free(command, values);
	return code;
}

/* Runs a command of a group like `kernel`. If no command is named, prints the help of the group. */
static int run_group(struct cli *cli, const struct cli_command *group, const char *const *words,
		     size_t count, bool *guest_exit, struct error *err)
{
	const struct cli_command *command;
	size_t used = 0;

	snprintf(cli->words, sizeof(cli->words), "%s", group->name);
	if (cli_parse_global(cli, words, count, &used, err) < 0)
		return -1;
	if (cli->help || used == count) {
		cli_print_help(stdout, NULL, group);
		return CLI_EXIT_OK;
	}
	command = cli_find(group->sub, words[used]);
	if (!command)
		return unknown_command(cli, group->name, group->sub, words[used], err);
	*guest_exit = command->guest_exit;
	return run_command(cli, group->name, command, words + used + 1, count - used - 1, err);
}

/* Sets an error from the words CODE REASON SUBJECT MESSAGE. These words come from a program of this
 * project that is not written in C. When that program fails, it replaces itself by `microagent`
 * (exec). So its error is printed like any other error, with a hint. */
static int told_error(const char *const *words, struct error *err)
{
	error_set(err, error_code_from_name(words[0]), "%s", words[3]);
	return error_reason(err, error_reason_from_name(words[1]), words[2]);
}

int cli_dispatch(struct cli *cli, const char *const *words, size_t count, bool *guest_exit,
		 struct error *err)
{
	const struct cli_command *command;
	size_t used = 0;

	if (count > 0 && strcmp(words[0], "__complete") == 0) {
		cli_complete(stdout, words + 1, count - 1);
		return CLI_EXIT_OK;
	}
	if (count == 1 && strcmp(words[0], "--version") == 0)
		return cli_version.run(cli, NULL, NULL, err);
	if (cli_parse_global(cli, words, count, &used, err) < 0)
		return -1;
	if (cli->help) {
		cli_print_overview(stdout);
		return CLI_EXIT_OK;
	}
	if (used == count)
		return cli_usage(
			cli, err,
			"no command is given: `microagent --help` lists the commands, and `microagent doctor` says what this host can do");
	if (count == used + 5 && strcmp(words[used], "__error") == 0)
		return told_error(words + used + 1, err);
	command = cli_find(cli_commands, words[used]);
	if (!command)
		return unknown_command(cli, "", cli_commands, words[used], err);
	*guest_exit = command->guest_exit;
	if (command->sub)
		return run_group(cli, command, words + used + 1, count - used - 1, guest_exit, err);
	return run_command(cli, "", command, words + used + 1, count - used - 1, err);
}
