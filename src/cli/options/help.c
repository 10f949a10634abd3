/* SPDX-License-Identifier: MIT */
/* Prints the help. The whole text comes from the tables of the commands and options. */
#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"

static const char *const group_titles[] = {
	[CLI_GROUP_RUN] = "Run a command in a machine of its own",
	[CLI_GROUP_LIFECYCLE] = "Workspaces that stay",
	[CLI_GROUP_OBSERVE] = "Look",
	[CLI_GROUP_HOST] = "This host",
};
static_assert(ARRAY_SIZE(group_titles) == CLI_GROUP_COUNT, "a title for each group");

const struct cli_command *cli_find(const struct cli_command *const *commands, const char *name)
{
	for (; *commands; commands++) {
		if (strcmp((*commands)->name, name) == 0)
			return *commands;
	}
	return NULL;
}

static void print_commands(FILE *out, const struct cli_command *const *commands, bool all,
			   enum cli_group group)
{
	for (; *commands; commands++) {
		if (all || (*commands)->group == group)
			fprintf(out, "  %-10s %s\n", (*commands)->name, (*commands)->summary);
	}
}

static void print_option(FILE *out, const struct cli_option *option)
{
	char left[64], letter[8] = "";

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	snprintf(left, sizeof(left), "%s--%s%s%s%s", letter, option->name, option->value ? " " : "",
		 option->value ? option->value : "", option->kind == CLI_OPTION_LIST ? "..." : "");
	fprintf(out, "  %-22s %s\n", left, option->help);
}

static void print_options(FILE *out, const char *title, const struct cli_command *command)
{
	const struct cli_option *option;

	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		if (i == 0)
			fprintf(out, "\n%s:\n", title);
		print_option(out, option);
	}
}

void cli_print_overview(FILE *out)
{
	fputs("microagent gives every task a virtual machine of its own.\n\n"
	      "usage: microagent [--json] [--state-dir DIR] COMMAND [WORD...]\n",
	      out);
	for (int group = 0; group < CLI_GROUP_COUNT; group++) {
		fprintf(out, "\n%s:\n", group_titles[group]);
		print_commands(out, cli_commands, false, (enum cli_group)group);
	}
	print_options(out, "Global options, before or after the command word", &cli_any_command);
	fputs("\n`microagent help COMMAND` explains one. First steps: microagent setup, then\n"
	      "microagent run -- uname -a\n",
	      out);
}

void cli_print_help(FILE *out, const char *parent, const struct cli_command *command)
{
	const struct cli_option *option = cli_option_at(command, 0);
	const char *gap = parent ? " " : "";

	fprintf(out, "%s%s%s: %s\n\nusage: microagent %s%s%s%s%s%s\n", parent ? parent : "", gap,
		command->name, command->summary, parent ? parent : "", gap, command->name,
		option ? " [OPTION...]" : "", command->args || command->sub ? " " : "",
		command->args  ? command->args
		: command->sub ? "COMMAND [WORD...]"
			       : "");
	if (command->help)
		fprintf(out, "\n%s", command->help);
	if (command->sub) {
		fputs("\nCommands:\n", out);
		print_commands(out, command->sub, true, CLI_GROUP_RUN);
	}
	print_options(out, "Options", command);
	print_options(out, "Global options, before or after the command word", &cli_any_command);
}
