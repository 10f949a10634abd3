/* SPDX-License-Identifier: MIT */
/* stop: ends a machine cleanly. */
#include "cli/workspace/each.h"

static int run_stop(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	(void)values;
	return each_run(cli, args, "stopping", microagent_stop, NULL, err);
}

const struct cli_command cli_stop = {
	.name = "stop",
	.args = "NAME...",
	.summary = "power a workspace's machine off, in order",
	.help = "The command is ended, file systems are unmounted, the machine powers off. It is\n"
		"killed if it does not do so within the deadline. The disk stays: `microagent start`\n"
		"boots it again.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.min_args = 1,
	.max_args = SIZE_MAX,
	.run = run_stop,
};
