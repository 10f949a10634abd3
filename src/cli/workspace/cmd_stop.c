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
	.help = "The command ends, file systems are unmounted, and the machine powers off. A machine\n"
		"that does not do so in time is killed. The disk stays: `microagent start` boots it\n"
		"again.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.min_args = 1,
	.max_args = SIZE_MAX,
	.run = run_stop,
};
