/* SPDX-License-Identifier: MIT */
/* session share: a directory of this host for a session that runs. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "microagent_session.h"

struct share_values {
	bool read_only, anyway;
	const char *at, *cache;
	int64_t timeout;
};

static int print_share(struct cli *cli, const char *name, json_t *share, struct error *err)
{
	json_auto_t *answer = NULL;

	if (!cli->json) {
		printf("%s: %s is on %s%s\n", name, json_text(share, "path", NULL),
		       json_text(share, "mountpoint", NULL),
		       strcmp(json_text(share, "mode", NULL), "ro") == 0 ? ", read-only" : "");
		return CLI_EXIT_OK;
	}
	answer = json_pack("{s:b, s:s, s:O}", "ok", 1, "name", name, "share", share);
	return cli_print_json(answer, err);
}

/* "bob", "1000:1000"; the guest's uid 1000 may have other names there, of which the host knows
 * nothing. */
static bool is_agent(const char *user)
{
	size_t len = strcspn(user, ":");

	return (len == 4 && strncmp(user, "1000", len) == 0) ||
	       (len == 5 && strncmp(user, "agent", len) == 0);
}

void session_warn_user(const struct cli *cli, const json_t *base)
{
	const char *user = json_text(base, "user", NULL);

	if (user && !is_agent(user))
		guest_warn(
			cli,
			"commands of base %.100s run as its user \"%.100s\", and in the shared "
			"directory you are uid 1000 alone: `microagent session exec --user 1000` "
			"runs those that work there",
			json_text(base, "name", NULL), user);
}

static void warn_user_of(const struct cli *cli, struct microagent *agent,
			 const struct microagent_session *session)
{
	json_auto_t *described = microagent_session_describe(session, NULL);
	json_auto_t *base =
		described ? microagent_base_show(agent, json_text(described, "base", NULL), NULL)
			  : NULL;

	session_warn_user(cli, base);
}

static int share_with(struct cli *cli, struct microagent *agent, const struct share_values *v,
		      const struct cli_words *args, struct error *err)
{
	const struct microagent_session_share wanted = {
		.dir = args->items[1],
		.at = v->at,
		.read_only = v->read_only,
		.anyway = v->anyway,
		.cache = v->cache,
		.timeout_seconds = v->timeout,
	};
	struct microagent_session *session = NULL;
	json_auto_t *share = NULL;
	int code = -1;

	if (microagent_session_open(agent, args->items[0], &session, err) < 0)
		return -1;
	if (microagent_session_give_share(session, &wanted, &share, err) == 0) {
		warn_user_of(cli, agent, session);
		code = print_share(cli, microagent_session_name(session), share, err);
	} else if (err && err->code == ERR_INVALID) {
		cli->usage_error =
			true; /* as for --share: no such directory is shared on this host */
	}
	microagent_session_close(session);
	return code;
}

static int run_session_share(struct cli *cli, const void *values, const struct cli_words *args,
			     struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	struct microagent *agent = guest_open(cli, &progress, err);
	int code;

	if (!agent)
		return -1;
	if (((const struct share_values *)values)->anyway)
		guest_warn_shared_anyway(cli);
	progress_start(&progress, "sharing the directory");
	code = share_with(cli, agent, values, args, err);
	microagent_close(agent);
	return code;
}

static const struct cli_option options[] = {
	{"ro", 0, CLI_OPTION_FLAG, offsetof(struct share_values, read_only), NULL,
	 "the session cannot write to it", 0, 0},
	{"share-anyway", 0, CLI_OPTION_FLAG, offsetof(struct share_values, anyway), NULL,
	 "also a store of keys, or the home directory", 0, 0},
	{"at", 0, CLI_OPTION_STRING, offsetof(struct share_values, at), "PATH",
	 "where in the session (default: /workspace)", 0, 0},
	{"cache", 0, CLI_OPTION_STRING, offsetof(struct share_values, cache), "auto|always|none",
	 "what the guest keeps of it (default: auto)", 0, 0},
	{"timeout", 0, CLI_OPTION_INT, offsetof(struct share_values, timeout), "SECONDS",
	 "how long it keeps names and attributes (default: 1)", 1, 86400},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

const struct cli_command session_share = {
	.name = "share",
	.args = "SESSION DIR",
	.summary = "give a running session a directory of this host; it gets one",
	.options = options,
	.values_size = sizeof(struct share_values),
	.min_args = 2,
	.max_args = 2,
	.check_name = microagent_session_check_name,
	.run = run_session_share,
};
