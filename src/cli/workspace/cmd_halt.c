/* SPDX-License-Identifier: MIT */
/* halt: ends a machine cleanly, and records that the workspace is kept for a later start. */
#include "cli/workspace/each.h"

static int run_halt(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	(void)values;
	return each_run(cli, args, "halting", microagent_halt, NULL, err);
}

const struct cli_command cli_halt = {
	.name = "halt",
	.args = "NAME...",
	.summary = "power a machine off and keep it for a later start",
	.help = "As `microagent stop`, but recorded as `halted`. In quarantine it presses the machine's\n"
		"power button, because nothing else reaches the guest.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.min_args = 1,
	.max_args = SIZE_MAX,
	.run = run_halt,
};
