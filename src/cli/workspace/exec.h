/* SPDX-License-Identifier: MIT */
/* The options and functions of `exec`. The command that runs a program in a session uses them
 * too. */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include "cli/options/guest.h"
#include "cli/terminal/attend.h"

struct exec_values {
	struct attend_input input;
	bool terminal, shell;
	struct cli_words env, rlimits;
	struct microagent_exec exec; /* the values of the options other than --env and --rlimit */
};
extern const struct cli_option exec_options[];

/* Runs the command in the guest. `args` has the name of the workspace, and then the words of the
 * command. The function `open` opens the workspace. */
int exec_run(struct cli *cli, const struct exec_values *values, const struct cli_words *args,
	     guest_open_fn *open, struct error *err);

#endif
