/* SPDX-License-Identifier: MIT */
/* What `exec` is made of, for commands that run something in a guest of another kind. */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include "cli/options/guest.h"
#include "cli/terminal/attend.h"

struct exec_values {
	struct attend_input input;
	bool terminal, shell;
	struct cli_words env, rlimits;
	struct microagent_exec exec; /* all else */
};
extern const struct cli_option exec_options[];

/* args: the workspace, which is opened by open, and the command's words. */
int exec_run(struct cli *cli, const struct exec_values *values, const struct cli_words *args,
	     guest_open_fn *open, struct error *err);

#endif
