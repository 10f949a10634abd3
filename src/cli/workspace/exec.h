/* SPDX-License-Identifier: MIT */
/* The parts of `exec`, for `exec` and for the command that runs a program in a session. */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include "cli/options/guest.h"
#include "cli/terminal/attend.h"

struct exec_values {
	struct attend_input input;
	bool terminal, shell;
	struct cli_words env, rlimits;
	struct microagent_exec exec; /* the values of all other options */
};
extern const struct cli_option exec_options[];

/* Runs the command in the guest. `args`: first the name of the workspace, which the function `open`
 * opens, and then the words of the command. */
int exec_run(struct cli *cli, const struct exec_values *values, const struct cli_words *args,
	     guest_open_fn *open, struct error *err);

#endif
