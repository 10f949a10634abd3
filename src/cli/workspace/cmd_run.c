/* SPDX-License-Identifier: MIT */
/* run: makes a machine for one command. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/options/guest.h"
#include "cli/session/run_base.h"
#include "cli/terminal/attend.h"
#include "cli/workspace/changes.h"
#include "cli/workspace/review.h"

struct run_values {
	/* must be the first member, since guest_options has offsets in struct guest_values */
	struct guest_values guest;
	struct attend_input input;
	const char *name;
	bool keep;
	struct run_base base;
};

static const struct cli_option run_options[] = {
	ATTEND_INPUT_OPTIONS(struct run_values, input),
	{"name", 0, CLI_OPTION_STRING, offsetof(struct run_values, name), "NEW",
	 "name of the workspace (default: a random name)", 0, 0},
	{"keep", 0, CLI_OPTION_FLAG, offsetof(struct run_values, keep), NULL,
	 "keep the workspace afterwards: `microagent start` boots it again", 0, 0},
	{"base", 0, CLI_OPTION_STRING, offsetof(struct run_values, base.base), "BASE",
	 "run CMD in a session of this base, which is destroyed afterwards", 0, 0},
	{"cold", 0, CLI_OPTION_FLAG, offsetof(struct run_values, base.cold), NULL,
	 "with --base: boot it, even if `base warm` has saved a machine to restore", 0, 0},
	{"disk-quota", 0, CLI_OPTION_INT, offsetof(struct run_values, base.disk_quota), "MIB",
	 "with --base: growth of the disk (default: the size of the base's)", 1, INT32_MAX},
	{"tty", 't', CLI_OPTION_FLAG, offsetof(struct run_values, base.terminal), NULL,
	 "with --base: run it on a terminal in the guest, joined to yours", 0, 0},
	{"cwd", 'w', CLI_OPTION_GUEST, offsetof(struct run_values, base.cwd), "PATH",
	 "with --base: working directory (default: the user's home, else /)", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct start {
	const struct cli *cli;
	const struct guest_values *values;
	struct progress *progress;
	char name[64]; /* the name of the workspace; "" until the machine runs */
};

/* The library calls this function when the machine runs. From then on stderr belongs to the
 * command, so the progress line is erased. */
static void on_started(void *data, const char *name, const char *accelerator)
{
	struct start *start = data;

	snprintf(start->name, sizeof(start->name), "%s", name);
	progress_end(start->progress);
	if (!start->values->initrd)
		guest_warn_init(start->cli, start->values->kernel, start->values->machine.arch);
	guest_warn_accelerator(start->cli, accelerator);
}

/* Prints the name of the workspace that was kept. */
static void say_kept(const struct cli *cli, struct microagent *agent, const char *name)
{
	json_auto_t *response = NULL;
	char itself[CLI_ITSELF];

	cli_itself(cli, itself);
	if (*name && microagent_status(agent, name, &response, NULL) == 0)
		guest_warn(
			cli,
			"workspace \"%s\" was kept: `%s start %s` boots it again, `%s delete %s` removes it",
			name, itself, name, itself, name);
}

static int run_attended(const struct cli *cli, struct microagent *agent,
			const struct run_values *values, const struct microagent_spec *spec,
			struct progress *progress, struct error *err)
{
	const struct attend how = {.input = values->input, .timeout = values->guest.timeout};
	struct start start = {.cli = cli, .values = &values->guest, .progress = progress};
	bool review = review_is_asked(&values->guest);
	const struct microagent_run_options options = {
		.name = values->name,
		/* The changes of a review are in the workspace. */
		.keep = values->keep || review,
		.started = on_started,
		.data = &start,
	};
	struct microagent_outcome outcome = {0};
	struct attended attended;
	int code;

	if (attend_begin(&attended, cli, &how, err) < 0)
		return -1;
	snprintf(start.name, sizeof(start.name), "%s", values->name ? values->name : "");
	code = microagent_run(agent, spec, &options, &attended.streams, &outcome, err);
	code = attend_end(&attended, code, &outcome, err);
	bool clean = outcome.end == MICROAGENT_EXITED && !outcome.signal;

	if (review && *start.name && !review_after_run(cli, agent, start.name, start.name, clean) &&
	    !values->keep)
		(void)microagent_delete(agent, start.name, NULL, NULL);
	/* Prints the name if the command did not end by itself: a signal ended it, or the reader of
	 * stdout has closed it. */
	if (values->keep && (outcome.end != MICROAGENT_EXITED || outcome.signal))
		say_kept(cli, agent, start.name);
	return code;
}

static int check_run(struct cli *cli, const struct run_values *v, const struct cli_words *args,
		     struct env_list *env, struct error *err)
{
	const struct attend how = {v->input, v->base.terminal, v->guest.timeout};

	if (attend_check(cli, &how, err) < 0 || run_base_check(cli, &v->base, &v->guest, err) < 0 ||
	    guest_check(cli, &v->guest, v->name, env, err) < 0 ||
	    guest_check_command(cli, args->items, err) < 0)
		return -1;
	if (v->base.base && (v->keep || v->name))
		return cli_usage(
			cli, err,
			"%s and --base exclude each other: `microagent session create` makes sessions that stay",
			v->keep ? "--keep" : "--name");
	/* Requires no command if the user names an image, since that image may have a command. */
	if (args->count == 0 && !v->guest.image)
		return cli_usage(cli, err, "run needs a command: microagent run %s", cli_run.args);
	return 0;
}

static int run_run(struct cli *cli, const void *values, const struct cli_words *args,
		   struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct run_values *v = values;
	int64_t begun_ns = clock_real_ns();
	auto_env struct env_list env = {0};
	struct microagent_spec spec;
	struct microagent *agent;
	int code;

	if (check_run(cli, v, args, &env, err) < 0)
		return -1;
	if (v->base.base) {
		code = run_base_run(cli, &v->base, &v->guest, &v->input, &env, args, err);
		changes_warn(cli, &v->guest, begun_ns);
		return code;
	}
	agent = guest_open(cli, &progress, err);
	if (!agent)
		return -1;
	if (v->guest.machine.unconfined)
		guest_unconfined(cli, agent);
	progress_start(&progress, "booting a machine");
	spec = guest_spec(&v->guest, &env, args->count ? args->items : NULL);
	code = run_attended(cli, agent, v, &spec, &progress, err);
	changes_warn(cli, &v->guest, begun_ns);
	microagent_close(agent);
	return code;
}

const struct cli_command cli_run = {
	.name = "run",
	.args = "[[--] CMD [WORD...]]",
	.summary = "boot a machine, run a command in it, remove it",
	.help = "stdout and stderr are the command's, live and without limit; stdin only with -i.\n"
		"Options of microagent come before CMD; every word after it is the command's. An\n"
		"imported image may name a command, which is run if there is no CMD.\n\n"
		"The exit code is the command's: 128+N when signal N killed it, 127 not found, 126\n"
		"not executable, 124 when --timeout passed; 125 when microagent itself failed.\n"
		"Signals go to the command as with `microagent exec`; a second Ctrl-C or SIGTERM\n"
		"ends the machine. Nothing of it stays.\n\n"
		"With --base the machine is a session of that base, restored if `base warm` has\n"
		"saved one. Signals then act as with `microagent session exec`.\n",
	.group = CLI_GROUP_RUN,
	.options = run_options,
	.shared = guest_options,
	.machine = MACHINE_OPTIONS_OF_RUN,
	.values_size = sizeof(struct run_values),
	.max_args = SIZE_MAX,
	.takes_command = true,
	.guest_exit = true,
	.run = run_run,
};
