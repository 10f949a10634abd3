/* SPDX-License-Identifier: MIT */
/* quarantine: cuts a running machine off from all that it reaches. The machine goes on. */
#include "cli/workspace/each.h"

static int run_quarantine(struct cli *cli, const void *values, const struct cli_words *args,
			  struct error *err)
{
	(void)values;
	return each_run(cli, args, "cutting every channel", microagent_quarantine, NULL, err);
}

const struct cli_command cli_quarantine = {
	.name = "quarantine",
	.args = "NAME...",
	.summary = "cut every channel of a machine and let it go on",
	.help = "Network, published ports, mediation, shares, commands and consoles end at once,\n"
		"without asking the guest; the machine goes on with its memory and its disks, and\n"
		"its serial log is still written. That nothing is left is looked at from outside; a\n"
		"machine of which it cannot be shown is killed. `microagent halt`, `stop` or `kill`\n"
		"ends it, and only then can it be started again. Without a machine the state is\n"
		"recorded, so that nobody starts it.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.min_args = 1,
	.max_args = SIZE_MAX,
	.run = run_quarantine,
};
