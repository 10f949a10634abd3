/* SPDX-License-Identifier: MIT */
/* delete: removes a workspace. */
#include "cli/workspace/each.h"

/* Returns the text that is printed after success. Looks for the workspace before it is deleted: the
 * supervisor's answer is the same if the workspace did not exist. */
static const char *foretell(struct microagent *agent, const char *name)
{
	struct error why = {0};
	bool running;

	if (microagent_is_running(agent, name, &running, &why) < 0 && why.code == ERR_NOT_FOUND)
		return "was not there";
	return "deleted";
}

static int run_delete(struct cli *cli, const void *values, const struct cli_words *args,
		      struct error *err)
{
	(void)values;
	return each_run(cli, args, "deleting", microagent_delete, foretell, err);
}

const struct cli_command cli_delete = {
	.name = "delete",
	.args = "NAME...",
	.summary = "remove a workspace and its disk",
	.help = "If there is no such workspace, that is a success. One that runs is refused:\n"
		"`microagent stop` or `microagent kill` it first.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.min_args = 1,
	.max_args = SIZE_MAX,
	.run = run_delete,
};
