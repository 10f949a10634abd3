/* SPDX-License-Identifier: MIT */
/* exec: runs a further command in a running workspace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/options/rlimit.h"
#include "cli/session/session.h"
#include "cli/workspace/exec.h"

const struct cli_option exec_options[] = {
	ATTEND_INPUT_OPTIONS(struct exec_values, input),
	{"tty", 't', CLI_OPTION_FLAG, offsetof(struct exec_values, terminal), NULL,
	 "run it on a terminal in the guest, joined to yours", 0, 0},
	{"shell", 0, CLI_OPTION_FLAG, offsetof(struct exec_values, shell), NULL,
	 "CMD is one line for the guest's sh", 0, 0},
	{"env", 'e', CLI_OPTION_LIST, offsetof(struct exec_values, env), "KEY=VALUE",
	 "variable of the command; KEY alone takes your own; may be given again", 0, 0},
	{"cwd", 'w', CLI_OPTION_GUEST, offsetof(struct exec_values, exec.cwd), "PATH",
	 "working directory (default: the user's home, else /)", 0, 0},
	{"user", 'u', CLI_OPTION_GUEST, offsetof(struct exec_values, exec.user), "USER",
	 "user who runs the command (default: the image's user, else uid 1000)", 0, 0},
	{"rlimit", 0, CLI_OPTION_LIST, offsetof(struct exec_values, rlimits), "NAME=SOFT[:HARD]",
	 "resource limit of the command, like nofile=4096; may be given again", 0, 0},
	{"timeout", 0, CLI_OPTION_INT, offsetof(struct exec_values, exec.timeout_seconds),
	 "SECONDS", "end the command after this time, with exit code 124", 1, INT32_MAX},
	{"resume", 0, CLI_OPTION_INT, offsetof(struct exec_values, exec.resume_seconds), "SECONDS",
	 "how long to try for a new connection when the one to the guest breaks", 1, 3600},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

/* Copies `env`, and adds TERM from this program's environment. TERM tells the command the type of
 * the user's terminal. */
static int add_term(const struct cli_words *env, const char ***out, char **term, struct error *err)
{
	const char *ours = getenv("TERM");
	size_t count = 0;

	*out = calloc(env->count + 2, sizeof(**out));
	if (!*out || (ours && *ours && asprintf(term, "TERM=%s", ours) < 0))
		return error_errno(err, ENOMEM, "environment");
	if (*term)
		(*out)[count++] = *term; /* TERM comes first, so that --env can override it */
	for (size_t i = 0; i < env->count; i++)
		(*out)[count++] = env->items[i];
	return 0;
}

/* Runs a command. `exec` is complete, but lacks the terminal and the variable TERM. */
static int exec_attended(const struct cli *cli, struct microagent *agent, const char *id,
			 const struct exec_values *v, struct microagent_exec *exec,
			 struct error *err)
{
	const struct attend how = {v->input, v->terminal, exec->timeout_seconds};
	struct microagent_outcome outcome = {0};
	autofree const char **env = NULL;
	autofree char *term = NULL;
	struct attended attended;
	int code = -1;

	if ((!v->terminal || add_term(&v->env, &env, &term, err) == 0) &&
	    attend_begin(&attended, cli, &how, err) == 0) {
		if (env)
			exec->env = env;
		exec->terminal = attended.terminal;
		code = microagent_exec(agent, id, exec, &attended.streams, &outcome, err);
		code = attend_end(&attended, code, &outcome, err);
	}
	return code;
}

int exec_run(struct cli *cli, const struct exec_values *v, const struct cli_words *args,
	     guest_open_fn *open, struct error *err)
{
	const char *const in_shell[] = {"sh", "-c", args->items[1], NULL};
	const struct attend how = {v->input, v->terminal, 0};
	struct microagent_exec exec = v->exec;
	json_auto_t *rlimits = NULL;
	struct microagent *agent;
	char id[GUEST_ID_ROOM];
	int code;

	if (v->shell && args->count != 2)
		return cli_usage(cli, err, "--shell takes one word: put the whole line in quotes");
	if (attend_check(cli, &how, err) < 0 || guest_check_name(cli, args->items[0], err) < 0 ||
	    guest_check_command(cli, args->items + 1, err) < 0 ||
	    guest_take_env(cli, &v->env, err) < 0 ||
	    rlimit_words(cli, &v->rlimits, &rlimits, err) < 0)
		return -1;
	exec.command = v->shell ? in_shell : args->items + 1;
	exec.env = v->env.items;
	exec.rlimits = rlimits;
	agent = open(cli, NULL, args->items[0], id, err);
	code = agent ? exec_attended(cli, agent, id, v, &exec, err) : -1;
	session_tell_end(cli, args->items[0], agent ? id : NULL, code);
	microagent_close(agent);
	return code;
}

static int run_exec(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	return exec_run(cli, values, args, guest_open_at, err);
}

const struct cli_command cli_exec = {
	.name = "exec",
	.args = "NAME [--] CMD [WORD...]",
	.summary = "run one more command in a running workspace or session",
	.help = "stdout and stderr are the command's, live and without limit; stdin only with -i. The\n"
		"exit code is the command's, as with `microagent run`. With -t it runs on a terminal\n"
		"that is as large as yours; what you type goes to it, Ctrl-C too.\n\n"
		"SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 go to the command; a second\n"
		"SIGINT or SIGTERM kills it with everything it started. So does the end of this program,\n"
		"however it ends. What a command leaves in the background when it ends by itself lives\n"
		"on. With --json the output is kept (8 MiB each) and one object is printed at the end.\n",
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
