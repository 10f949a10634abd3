/* SPDX-License-Identifier: MIT */
/* run --base: does the work of `session create`, `session exec` and `session destroy` in one
 * command. */
#include "cli/session/run_base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/session/session.h"
#include "cli/workspace/review.h"
#include "microagent_session.h"

static int check_without_base(struct cli *cli, const struct run_base *how, struct error *err)
{
	const struct {
		bool given;
		const char *option;
	} own[] = {
		{how->cold, "--cold"},
		{how->terminal, "--tty"},
		{how->cwd, "--cwd"},
		{how->disk_quota, "--disk-quota"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (own[i].given)
			return cli_usage(
				cli, err,
				"%s needs --base: give --base too, or leave this option out",
				own[i].option);
	return 0;
}

int run_base_check(struct cli *cli, const struct run_base *how, const struct guest_values *values,
		   struct error *err)
{
	const struct {
		bool given;
		const char *option;
	} alien[] = {
		{values->image, "--image"},
		{values->kernel, "--kernel"},
		{values->machine.arch, "--arch"},
		{values->initrd, "--initrd"},
		{values->no_disk, "--no-disk"},
		{values->console, "--console"},
		{values->machine.disks.count, "--disk"},
		{values->bundles.count, "--bundle"},
		{values->outputs.count, "--output"},
	};

	if (!how->base)
		return check_without_base(cli, how, err);
	for (size_t i = 0; i < ARRAY_SIZE(alien); i++) {
		if (alien[i].given)
			return cli_usage(cli, err,
					 "%s and --base exclude each other: leave one of them out",
					 alien[i].option);
	}
	return guest_check_base(cli, how->base, err);
}

/* Destroys the session. A failure is printed only as a warning, since the exit code is that of the
 * command. */
static void destroy_after_run(const struct cli *cli, struct microagent_session *session)
{
	struct error why = {0};

	if (microagent_session_destroy(session, &why) < 0)
		cli_warn_error(cli, "the session could not be destroyed: ", &why);
	microagent_session_close(session);
}

/* Stops the session and returns true if it must stay: it has changes of a review, or nobody can tell
 * whether it has any. */
static bool keep_review(const struct cli *cli, const char *name)
{
	struct error why = {0};
	char id[GUEST_ID_ROOM];
	struct microagent *agent = guest_open_living(cli, NULL, name, id, &why);
	bool kept;

	if (!agent) {
		cli_warn_error(cli,
			       "the session stays, because its changes cannot be fetched: ", &why);
		return true;
	}
	kept = review_after_run(cli, agent, id, name, true);
	if (kept && microagent_stop(agent, id, NULL, &why) < 0)
		cli_warn_error(cli, "the session could not be stopped: ", &why);
	microagent_close(agent);
	return kept;
}

/* Makes the session. A signal during this time cancels the making. Afterwards the signals stay
 * blocked. So a signal that comes before the command starts still reaches the command. */
static int make_for_run(const struct cli *cli, struct microagent *agent, const struct run_base *how,
			const struct guest_values *values, const struct env_list *env,
			struct microagent_session **out, struct error *err)
{
	struct signals signals = SIGNALS_NONE;
	int code;

	if (signals_open_ending(&signals, err) < 0)
		return -1;
	const struct microagent_session_spec spec = {
		.machine = guest_spec(values, env, NULL).machine,
		.base = how->base,
		.disk_quota_mib = how->disk_quota,
		.cold = how->cold,
		/* A session that ends with this program would take the changes of a review with
		 * it. */
		.owned = !review_is_asked(values),
		.cancel = signals.fd,
	};

	code = microagent_session_create(agent, &spec, out, err);
	if (code == 0 && signals_next(&signals) > 0) {
		destroy_after_run(cli, steal_ptr(out));
		code = error_set(err, ERR_UNAVAILABLE, "cancelled");
	}
	return session_end_by_signal(cli, &signals, code, err);
}

static int run_in_session(struct cli *cli, const char *name, struct exec_values *exec,
			  const struct env_list *env, const struct cli_words *command,
			  struct error *err)
{
	autofree const char **variables = calloc(env->count + 1, sizeof(*variables));
	autofree const char **words = calloc(command->count + 2, sizeof(*words));

	if (!variables)
		return error_errno(err, ENOMEM, "environment");
	if (!words)
		return error_errno(err, ENOMEM, "command");
	for (size_t i = 0; i < env->count; i++)
		variables[i] = env->items[i];
	exec->env = (struct cli_words){variables, env->count};
	words[0] = name; /* the first word is the session's name, as for `session exec` */
	memcpy(words + 1, command->items, command->count * sizeof(*words));
	const struct cli_words args = {words, command->count + 1};

	return exec_run(cli, exec, &args, guest_open_session, err);
}

int run_base_run(struct cli *cli, const struct run_base *how, const struct guest_values *values,
		 const struct attend_input *input, const struct env_list *env,
		 const struct cli_words *command, struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	struct exec_values exec = {
		.input = *input,
		.terminal = how->terminal,
		.exec = {.cwd = how->cwd, .user = values->user, .timeout_seconds = values->timeout},
	};
	struct microagent_session *session = NULL;
	struct microagent *agent = guest_open(cli, &progress, err);
	json_auto_t *described = NULL;
	int code;

	if (!agent)
		return -1;
	if (values->machine.unconfined)
		guest_unconfined(cli, agent);
	progress_start(&progress, "making a session");
	code = make_for_run(cli, agent, how, values, env, &session, err);
	progress_end(&progress);
	if (session) {
		described = microagent_session_describe(session, NULL);
		if (described)
			session_warn_made(cli, agent, described);
		code = run_in_session(cli, microagent_session_name(session), &exec, env, command,
				      err);
		if (review_is_asked(values) && keep_review(cli, microagent_session_name(session)))
			microagent_session_close(session);
		else
			destroy_after_run(cli, session);
	}
	microagent_close(agent);
	return code;
}
