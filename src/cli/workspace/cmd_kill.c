/* SPDX-License-Identifier: MIT */
/* kill: ends a machine at once. */
#include "cli/workspace/each.h"

static int run_kill(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	(void)values;
	return each_run(cli, args, "killing", microagent_kill, NULL, err);
}

const struct cli_command cli_kill = {
	.name = "kill",
	.args = "NAME...",
	.summary = "end a workspace's machine at once",
	.help = "The machine ends as if its power were cut: data that the guest had not written to\n"
		"its disk is lost. The workspace stays.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.min_args = 1,
	.max_args = SIZE_MAX,
	.run = run_kill,
};
