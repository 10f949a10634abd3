/* SPDX-License-Identifier: MIT */
/* quarantine: cuts a running machine off from all that it reaches. The machine goes on running. */
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
		"without asking the guest. The machine goes on with its memory and its disks, and its\n"
		"serial log is still written. A check from outside shows that nothing is left; a\n"
		"machine that fails it is killed. `microagent halt`, `stop` or `kill` ends the\n"
		"quarantine, and only then can the machine be started again. If no machine runs, the\n"
		"state is recorded, so that nobody starts it.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.min_args = 1,
	.max_args = SIZE_MAX,
	.run = run_quarantine,
};
