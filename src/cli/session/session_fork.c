/* SPDX-License-Identifier: MIT */
/* session fork: makes sessions that go on from the state of another session. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "cli/terminal/signals.h"
#include "microagent_session.h"

struct fork_values {
	int64_t count;
	const char *on_fork, *user;
	int64_t timeout;
};

struct children {
	struct microagent_session **items;
	int64_t count;
};

static void children_close(struct children *children)
{
	for (int64_t i = 0; i < children->count; i++)
		microagent_session_close(children->items[i]);
	free(children->items);
}

static json_t *describe_children(const struct children *children, struct error *err)
{
	json_auto_t *list = json_array();

	for (int64_t i = 0; i < children->count; i++) {
		json_t *child = microagent_session_describe(children->items[i], err);

		if (!child || json_array_append_new(list, child) < 0)
			return child ? (error_errno(err, ENOMEM, "fork"), NULL) : NULL;
	}
	return steal_ptr(&list);
}

static int print_children(const struct cli *cli, const char *parent, const json_t *told,
			  const struct children *children, struct error *err)
{
	if (cli->json) {
		json_auto_t *sessions = describe_children(children, err);
		json_auto_t *answer =
			sessions ? json_pack("{s:b, s:s, s:O, s:O}", "ok", 1, "parent", parent,
					     "saved", told, "sessions", sessions)
				 : NULL;

		return answer ? cli_print_json(answer, err) : -1;
	}
	for (int64_t i = 0; i < children->count; i++)
		if (printf("%s\n", microagent_session_name(children->items[i])) < 0)
			return error_errno(err, errno, "cannot write to stdout");
	if (fflush(stdout) != 0)
		return error_errno(err, errno, "cannot write to stdout");
	cli_warn("%s was paused for %.0f ms", parent,
		 json_number_value(json_object_get(told, "pauseMs")));
	return 0;
}

/* Destroys the new sessions. This is done if their names could not be printed, since no session can
 * be used without its name. */
static int take_back(struct cli *cli, const struct children *children, const struct error *why,
		     struct error *err)
{
	cli->stdout_errnum = why->errnum;
	for (int64_t i = 0; i < children->count; i++)
		if (microagent_session_destroy(children->items[i], err) < 0)
			return -1;
	guest_warn(cli, "the forks were destroyed again, because their names could not be printed");
	return CLI_EXIT_OK;
}

static int fork_with(struct cli *cli, struct microagent *agent, const char *name,
		     const struct microagent_fork_spec *spec, struct error *err)
{
	const int64_t count = spec->count;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of handles, as pointers */
	struct children children = {.items = calloc((size_t)count, sizeof(*children.items))};
	struct microagent_session *parent = NULL;
	json_auto_t *told = NULL;
	struct error why = {0};
	int code = -1;

	if (!children.items)
		return error_errno(err, ENOMEM, "fork");
	if (microagent_session_open(agent, name, &parent, err) == 0 &&
	    microagent_session_fork(parent, spec, children.items, &told, err) == 0) {
		children.count = count;
		code = print_children(cli, microagent_session_name(parent), told, &children,
				      &why) == 0
			       ? CLI_EXIT_OK
			       : take_back(cli, &children, &why, err);
	}
	children_close(&children);
	microagent_session_close(parent);
	return code;
}

static int run_session_fork(struct cli *cli, const void *values, const struct cli_words *args,
			    struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct fork_values *v = values;
	const char *const line[] = {"sh", "-c", v->on_fork, NULL};
	const struct microagent_exec command = {
		.command = line, .user = v->user, .timeout_seconds = v->timeout};
	struct signals signals = SIGNALS_NONE;
	struct microagent *agent;
	int code;

	if (!v->on_fork && (v->user || v->timeout))
		return cli_usage(
			cli, err,
			"--user and --timeout need --on-fork: they are for the command that --on-fork gives");
	agent = guest_open(cli, &progress, err);
	/* Handles signals: before one of them ends this program, the new sessions must be ended. */
	if (!agent || signals_open_ending(&signals, err) < 0) {
		microagent_close(agent);
		return -1;
	}
	const struct microagent_fork_spec spec = {.count = v->count ? v->count : 1,
						  .cancel = signals.fd,
						  .on_fork = v->on_fork ? &command : NULL};

	progress_start(&progress, "forking the session");
	code = fork_with(cli, agent, args->items[0], &spec, err);
	microagent_close(agent);
	progress_end(&progress);
	return session_end_by_signal(cli, &signals, code, err);
}

static const struct cli_option fork_options[] = {
	{"count", 0, CLI_OPTION_INT, offsetof(struct fork_values, count), "N",
	 "how many new sessions to make (default: 1)", 1, 100},
	{"on-fork", 0, CLI_OPTION_GUEST, offsetof(struct fork_values, on_fork), "LINE",
	 "run LINE by sh -c in each new session; if one fails, all are destroyed", 0, 0},
	{"user", 'u', CLI_OPTION_GUEST, offsetof(struct fork_values, user), "USER",
	 "user who runs LINE (default: the image's user, else uid 1000)", 0, 0},
	{"timeout", 0, CLI_OPTION_INT, offsetof(struct fork_values, timeout), "SECONDS",
	 "time for LINE in each new session (default: 60)", 1, 600},
	{0},
};

const struct cli_command session_fork = {
	.name = "fork",
	.args = "SESSION",
	.summary = "new sessions that go on from where one is; prints their names",
	.help = "The kernel of each new session gets new randomness before the first command.\n"
		"The memory of its processes stays as it was: keys, and the state of a random\n"
		"number generator (OpenSSL, Python's random), are the same in all of them,\n"
		"unless LINE changes that.\n",
	.options = fork_options,
	.values_size = sizeof(struct fork_values),
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_session_check_name,
	.run = run_session_fork,
};
