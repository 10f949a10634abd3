/* SPDX-License-Identifier: MIT */
/* session destroy: ends and removes sessions. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "cli/workspace/each.h"
#include "microagent_session.h"

struct destroy_values {
	bool all;
};

static int destroy_one(struct microagent *agent, const char *name, json_t **response,
		       struct error *err)
{
	if (microagent_session_destroy_named(agent, name, err) < 0)
		return -1;
	*response = json_pack("{s:b,s:s}", "ok", 1, "name", name);
	return *response ? 0 : error_set(err, ERR_IO, "out of memory");
}

/* Destroys a session for --all. It is no error if another process has already destroyed the
 * session. */
static int destroy_listed(struct microagent *agent, const char *name, json_t **response,
			  struct error *err)
{
	struct error why = {0};

	if (destroy_one(agent, name, response, &why) == 0)
		return 0;
	if (why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	*response = json_pack("{s:b,s:s}", "ok", 1, "name", name);
	return *response ? 0 : error_set(err, ERR_IO, "out of memory");
}

static const char *say_destroyed(struct microagent *agent, const char *name)
{
	(void)agent;
	(void)name;
	return "destroyed";
}

static const struct each_sessions destroy_named = {"destroying the session", destroy_one,
						   say_destroyed, false};
static const struct each_sessions destroy_all = {"destroying the sessions", destroy_listed,
						 say_destroyed, true};

/* Destroys all sessions, except the members of pools that were not claimed. `pool drain` ends these
 * members. */
static int destroy_every(struct cli *cli, struct error *err)
{
	json_auto_t *answer = guest_ask(cli, NULL, microagent_session_list, err);
	const json_t *sessions = json_object_get(answer, "sessions"), *session;
	autofree const char **names = calloc(json_array_size(sessions) + 1, sizeof(*names));
	struct cli_words words = {names, 0};
	size_t i;

	if (!answer || !names)
		return answer ? error_set(err, ERR_IO, "out of memory") : -1;
	json_array_foreach(sessions, i, session)
	{
		if (!json_is_true(json_object_get(session, "pooled")))
			names[words.count++] = json_text(session, "name", NULL);
	}
	if (words.count == 0 && !cli->json)
		cli_warn("there is no session to destroy");
	return each_run_sessions(cli, &words, &destroy_all, err);
}

static int run_destroy(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err)
{
	const struct destroy_values *v = values;

	if (v->all ? args->count > 0 : args->count == 0)
		return cli_usage(
			cli, err,
			"NAME... or --all is missing: give one of them to choose the sessions to destroy");
	return v->all ? destroy_every(cli, err) : each_run_sessions(cli, args, &destroy_named, err);
}

static const struct cli_option destroy_options[] = {
	{"all", 0, CLI_OPTION_FLAG, offsetof(struct destroy_values, all), NULL,
	 "every session except those that wait in a pool", 0, 0},
	{0},
};

const struct cli_command session_destroy = {
	.name = "destroy",
	.args = "SESSION...",
	.summary = "end sessions and remove all that they have",
	.options = destroy_options,
	.values_size = sizeof(struct destroy_values),
	.max_args = SIZE_MAX,
	.run = run_destroy,
};
