/* SPDX-License-Identifier: MIT */
/* exec: one more command in a running workspace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/exec.h"
#include "cli/guest.h"
#include "cli/rlimit.h"

const struct cli_option exec_options[] = {
	ATTEND_INPUT_OPTIONS(struct exec_values, input),
	{"tty", 't', CLI_OPTION_FLAG, offsetof(struct exec_values, terminal), NULL,
	 "run it on a terminal of the guest, and on ours", 0, 0},
	{"env", 'e', CLI_OPTION_LIST, offsetof(struct exec_values, env), "KEY=VALUE",
	 "variable of the command; may be given again", 0, 0},
	{"cwd", 'w', CLI_OPTION_STRING, offsetof(struct exec_values, cwd), "DIR",
	 "working directory (default: the user's home, else /)", 0, 0},
	{"user", 'u', CLI_OPTION_STRING, offsetof(struct exec_values, user), "USER",
	 "who runs the command (default: the image's user, else uid 1000)", 0, 0},
	{"rlimit", 0, CLI_OPTION_LIST, offsetof(struct exec_values, rlimits), "NAME=SOFT[:HARD]",
	 "resource limit of the command, like nofile=4096; may be given again", 0, 0},
	{"timeout", 0, CLI_OPTION_INT, offsetof(struct exec_values, timeout), "SECONDS",
	 "end the command after this time, with exit code 124", 1, INT32_MAX},
	{"resume", 0, CLI_OPTION_INT, offsetof(struct exec_values, resume), "SECONDS",
	 "go on over a new connection when the one to the guest breaks", 1, 3600},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct exec {
	struct microagent *agent;
	const char *name;
	struct microagent_exec what;
};

static int run_on(void *data, const struct microagent_streams *streams,
		  const struct microagent_terminal *terminal, struct microagent_outcome *outcome,
		  struct error *err)
{
	struct exec *exec = data;

	exec->what.terminal = terminal;
	return microagent_exec(exec->agent, exec->name, &exec->what, streams, outcome, err);
}

/* env and, for a command on our terminal, which kind that is. */
static int add_term(const struct cli_words *env, const char ***out, char **term, struct error *err)
{
	const char *ours = getenv("TERM");
	size_t count = 0;

	*out = calloc(env->count + 2, sizeof(**out));
	if (!*out || (ours && *ours && asprintf(term, "TERM=%s", ours) < 0))
		return error_errno(err, ENOMEM, "environment");
	if (*term)
		(*out)[count++] = *term; /* first, so that --env has the last word */
	for (size_t i = 0; i < env->count; i++)
		(*out)[count++] = env->items[i];
	return 0;
}

static int exec_in(const struct cli *cli, struct microagent *agent,
		   const struct exec_values *values, json_t *rlimits, const struct cli_words *args,
		   struct error *err)
{
	const struct attend how = {values->input, values->terminal, values->timeout};
	autofree const char **env = NULL;
	autofree char *term = NULL;
	struct exec exec = {
		.agent = agent,
		.name = args->items[0],
		.what = {.command = args->items + 1,
			 .env = values->env.items,
			 .cwd = values->cwd,
			 .user = values->user,
			 .timeout_seconds = values->timeout,
			 .resume_seconds = values->resume,
			 .rlimits = rlimits},
	};

	if (values->terminal) {
		if (add_term(&values->env, &env, &term, err) < 0)
			return -1;
		exec.what.env = env;
	}
	return attend(cli, &how, run_on, &exec, err);
}

int exec_run(struct cli *cli, const struct exec_values *v, const struct cli_words *args,
	     struct error *err)
{
	const struct attend how = {v->input, v->terminal, v->timeout};
	json_auto_t *rlimits = NULL;
	struct microagent *agent;
	int code;

	if (attend_check(cli, &how, err) < 0 || guest_check_name(cli, args->items[0], err) < 0 ||
	    guest_check_command(cli, args->items[1], err) < 0 ||
	    guest_check_env(cli, &v->env, err) < 0 ||
	    rlimit_words(cli, &v->rlimits, &rlimits, err) < 0)
		return -1;
	agent = guest_open(cli, NULL, err);
	if (!agent)
		return -1;
	code = exec_in(cli, agent, v, rlimits, args, err);
	microagent_close(agent);
	return code;
}

static int run_exec(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	return exec_run(cli, values, args, err);
}

const struct cli_command cli_exec = {
	.name = "exec",
	.args = "NAME [--] CMD [WORD...]",
	.summary = "run one more command in a running workspace",
	.help = "stdout and stderr are the command's, live and without limit; stdin only with -i. "
		"The\n"
		"exit code is the command's, as with `microagent run`. With -t it runs on a "
		"terminal\n"
		"that is as large as ours; what is typed on ours goes to it, Ctrl-C too.\n"
		"\n"
		"SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 go to the command; a "
		"second\n"
		"SIGINT or SIGTERM kills it with everything it started. So does our own end, "
		"however\n"
		"it comes; what a command leaves in the background when it ends by itself lives "
		"on.\n"
		"With --json the output is kept (8 MiB each) and one object printed at the end.\n",
	.group = CLI_GROUP_RUN,
	.options = exec_options,
	.values_size = sizeof(struct exec_values),
	.min_args = 2,
	.max_args = SIZE_MAX,
	.takes_command = true,
	.plain_args = 1,
	.guest_exit = true,
	.run = run_exec,
};
