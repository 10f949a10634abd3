/* SPDX-License-Identifier: MIT */
/* list: lists the workspaces of the state directory. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/output/hint.h"

#define COMMAND_SHOWN 48

/* Writes the words of the command as one line. If the line is too long, "..." replaces its end. */
static void join_command(const json_t *command, char out[COMMAND_SHOWN])
{
	size_t i, len = 0;
	const json_t *word;

	out[0] = '\0';
	json_array_foreach(command, i, word)
	{
		int n = snprintf(out + len, COMMAND_SHOWN - len, "%s%s", i ? " " : "",
				 json_string_value(word) ? json_string_value(word) : "?");

		if (n < 0 || (size_t)n >= COMMAND_SHOWN - len) {
			snprintf(out + COMMAND_SHOWN - 4, 4, "...");
			return;
		}
		len += (size_t)n;
	}
}

static int add_workspace_row(struct cli_table *table, const json_t *entry, struct error *err)
{
	const char *what = json_text(entry, "error", json_text(entry, "detail", NULL));
	char detail[HINT_ROOM], memory[24] = "", cpus[24] = "", command[COMMAND_SHOWN];

	snprintf(memory, sizeof(memory), "%" PRIdMAX,
		 (intmax_t)json_integer_value(json_object_get(entry, "memoryMiB")));
	snprintf(cpus, sizeof(cpus), "%" PRIdMAX,
		 (intmax_t)json_integer_value(json_object_get(entry, "cpuCount")));
	hint_add_to_detail(entry, "name", what, detail);
	join_command(json_object_get(entry, "command"), command);
	const char *const cells[] = {
		json_text(entry, "name", NULL),
		json_text(entry, "state", NULL),
		json_text(entry, "observedAt", NULL),
		json_text(entry, "backend", NULL),
		json_text(entry, "architecture", NULL),
		memory,
		cpus,
		command[0] ? command : NULL,
		*detail ? detail : NULL,
	};

	return cli_table_row(table, cells, err);
}

static int print_workspaces(const json_t *list, struct error *err)
{
	static const char *const heads[] = {"NAME", "STATE", "SINCE",	"BACKEND", "ARCH",
					    "MIB",  "CPUS",  "COMMAND", "DETAIL"};
	auto_table struct cli_table table = {0};
	const json_t *entry;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(list, i, entry)
	{
		if (add_workspace_row(&table, entry, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	if (json_array_size(list) == 0)
		cli_warn("there is no workspace: `microagent create NAME` makes one");
	return CLI_EXIT_OK;
}

static int run_list(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	const struct guest_list list = {microagent_list, "workspaces", print_workspaces};

	(void)values;
	(void)args;
	return guest_print_list(cli, &list, err);
}

const struct cli_command cli_list = {
	.name = "list",
	.summary = "every workspace of the state directory",
	.group = CLI_GROUP_OBSERVE,
	.run = run_list,
};
