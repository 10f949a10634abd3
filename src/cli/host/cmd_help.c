/* SPDX-License-Identifier: MIT */
/* help: prints the text that --help prints. */
#include "cli/cli.h"

static int unknown(struct cli *cli, const char *word, struct error *err)
{
	return cli_usage(cli, err,
			 "there is no command \"%s\": `microagent help` lists the commands", word);
}

static int run_help(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	const struct cli_command *command, *inner;

	(void)values;
	if (args->count == 0) {
		cli_print_overview(stdout);
		return CLI_EXIT_OK;
	}
	command = cli_find(cli_commands, args->items[0]);
	if (!command)
		return unknown(cli, args->items[0], err);
	if (args->count == 1) {
		cli_print_help(stdout, NULL, command);
		return CLI_EXIT_OK;
	}
	inner = command->sub ? cli_find(command->sub, args->items[1]) : NULL;
	if (!inner)
		return unknown(cli, args->items[1], err);
	cli_print_help(stdout, command->name, inner);
	return CLI_EXIT_OK;
}

const struct cli_command cli_help = {
	.name = "help",
	.args = "[COMMAND [COMMAND]]",
	.summary = "explain a command",
	.group = CLI_GROUP_HOST,
	.max_args = 2,
	.run = run_help,
};
