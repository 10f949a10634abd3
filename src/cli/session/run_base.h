/* SPDX-License-Identifier: MIT */
/* `run --base`: runs one command in a session that is made for the command and destroyed
 * afterwards. */
#ifndef CLI_RUN_BASE_H
#define CLI_RUN_BASE_H

#include "cli/options/guest.h"
#include "cli/workspace/exec.h"

struct run_base {
	const char *base, *cwd;
	bool cold, terminal;
	int64_t disk_quota; /* how much the disk may grow, in MiB; 0: the default of the library */
};

/* Refuses options that a session of a base cannot have. Without --base, refuses options that make
 * sense only with it. */
int run_base_check(struct cli *cli, const struct run_base *how, const struct guest_values *values,
		   struct error *err);
/* Makes the session, runs the command and destroys the session. The caller has checked all words.
 * Returns the exit code of `run`, or -1 with an error. In both cases the session no longer exists.
 * If this process is killed, the session ends by itself. */
int run_base_run(struct cli *cli, const struct run_base *how, const struct guest_values *values,
		 const struct attend_input *input, const struct env_list *env,
		 const struct cli_words *command, struct error *err);

#endif
