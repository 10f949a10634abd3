/* SPDX-License-Identifier: MIT */
/* exec: one more command in a running workspace. */
#include "base/cleanup.h"
#include "cli/guest.h"

struct exec_values {
	const char *cwd, *user;
	struct cli_words env;
	int64_t timeout;
};

static const struct cli_option exec_options[] = {
	{"env", 'e', CLI_OPTION_LIST, offsetof(struct exec_values, env), "KEY=VALUE",
	 "variable of the command; may be given again", 0, 0},
	{"cwd", 'w', CLI_OPTION_STRING, offsetof(struct exec_values, cwd), "DIR",
	 "working directory (default: the user's home, else /)", 0, 0},
	{"user", 'u', CLI_OPTION_STRING, offsetof(struct exec_values, user), "USER",
	 "who runs the command (default: the image's user, else uid 1000)", 0, 0},
	{"timeout", 0, CLI_OPTION_INT, offsetof(struct exec_values, timeout), "SECONDS",
	 "end the command after this time, with exit code 124", 1, INT32_MAX},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct exec {
	struct microagent *agent;
	const char *name;
	const struct microagent_exec *what;
};

static int attend(void *data, const struct microagent_streams *streams,
		  struct microagent_outcome *outcome, struct error *err)
{
	const struct exec *exec = data;

	return microagent_exec(exec->agent, exec->name, exec->what, streams, outcome, err);
}

static int exec_in(const struct cli *cli, struct microagent *agent,
		   const struct exec_values *values, const struct cli_words *args,
		   struct error *err)
{
	const struct microagent_exec what = {
		.command = args->items + 1,
		.env = values->env.items,
		.cwd = values->cwd,
		.user = values->user,
		.timeout_seconds = values->timeout,
	};
	struct exec exec = {agent, args->items[0], &what};

	return guest_attend(cli, attend, &exec, values->timeout, err);
}

static int run_exec(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	const struct exec_values *v = values;
	struct microagent *agent;
	int code;

	if (guest_check_name(cli, args->items[0], err) < 0 ||
	    guest_check_command(cli, args->items[1], err) < 0 ||
	    guest_check_env(cli, &v->env, err) < 0)
		return -1;
	agent = guest_open(cli, NULL, err);
	if (!agent)
		return -1;
	code = exec_in(cli, agent, values, args, err);
	microagent_close(agent);
	return code;
}

const struct cli_command cli_exec = {
	.name = "exec",
	.args = "NAME [--] CMD [WORD...]",
	.summary = "run one more command in a running workspace",
	.help = "stdin, stdout and stderr are the command's, live and without limit; the exit "
		"code\n"
		"is the command's, as with `microagent run`. When this program ends first, "
		"however\n"
		"it ends, the command is killed with everything it started; what a command leaves\n"
		"in the background when it ends by itself lives on.\n",
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
