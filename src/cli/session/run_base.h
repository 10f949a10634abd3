/* SPDX-License-Identifier: MIT */
/* `run --base`: one command in a session that is made for it and destroyed behind it. */
#ifndef CLI_RUN_BASE_H
#define CLI_RUN_BASE_H

#include "cli/options/guest.h"
#include "cli/workspace/exec.h"

struct run_base {
	const char *base, *cwd;
	bool cold, terminal;
	int64_t disk_quota; /* MiB; 0: the base's */
};

/* What of values a session of a base cannot have, or what belongs to --base and stands without. */
int run_base_check(struct cli *cli, const struct run_base *how, const struct guest_values *values,
		   struct error *err);
/* All words have been checked. Returns the exit code of `run`, or -1; either way the session is
 * gone, and where this process is killed it ends by itself. */
int run_base_run(struct cli *cli, const struct run_base *how, const struct guest_values *values,
		 const struct attend_input *input, const struct env_list *env,
		 const struct cli_words *command, struct error *err);

#endif
