/* SPDX-License-Identifier: MIT */
/* start: boots a workspace. */
#include <string.h>

#include "base/cleanup.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "microagent_session.h"

struct start_values {
	bool prepare;
	bool unconfined;
};

static const struct cli_option start_options[] = {
	{"prepare", 0, CLI_OPTION_FLAG, offsetof(struct start_values, prepare), NULL,
	 "record kernel, init and disk as they are now before the start", 0, 0},
	GUEST_UNCONFINED(struct start_values),
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

/* Opens the session with this name. Leaves *session NULL if the workspace is not a session. Fails
 * if a directory of the session must not be shared any more, so that the machine is not started. */
static int open_session(struct cli *cli, struct progress *progress, const char *id,
			const char *name, struct microagent **agent,
			struct microagent_session **session, struct error *err)
{
	if (strcmp(id, name) == 0)
		return 0;
	*agent = guest_open(cli, progress, err);
	return *agent && microagent_session_open(*agent, name, session, err) == 0
		       ? microagent_session_check_shares(*session, err)
		       : -1;
}

static void share_again(const struct cli *cli, struct microagent_session *session)
{
	json_auto_t *described = NULL;
	struct error why = {0};

	if (microagent_session_share_again(session, &why) == 0)
		return;
	described = microagent_session_describe(session, NULL);
	session_warn_unshared(cli, microagent_session_name(session),
			      json_object_get(described, "shares"), why.msg);
}

static int start_in(struct cli *cli, struct microagent *agent, const char *id, const char *name,
		    struct microagent_session *session, bool prepare, struct progress *progress,
		    struct error *err)
{
	json_auto_t *response = NULL;
	char accelerator[8] = "";
	char itself[CLI_ITSELF];

	if (prepare && microagent_prepare(agent, id, NULL, err) < 0)
		return -1;
	if (microagent_start(agent, id, &response, err) < 0)
		return -1;
	progress_end(progress);
	if (session)
		share_again(cli, session);
	if (guest_is_unconfined(response))
		guest_warn_unconfined(cli);
	if (microagent_accelerator(agent, id, accelerator, NULL) == 0)
		guest_warn_accelerator(cli, accelerator);
	if (cli->json)
		return cli_print_json(response, err);
	printf("%s: running; `%s exec %s -- CMD` runs something in it\n", name,
	       cli_itself(cli, itself), name);
	return CLI_EXIT_OK;
}

static int run_start(struct cli *cli, const void *values, const struct cli_words *args,
		     struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct start_values *v = values;
	struct microagent *agent, *sessions = NULL;
	struct microagent_session *session = NULL;
	char id[GUEST_ID_ROOM];
	int code = -1;

	if (guest_check_name(cli, args->items[0], err) < 0)
		return -1;
	agent = guest_open_at(cli, &progress, args->items[0], id, err);
	if (!agent)
		return -1;
	if (v->unconfined)
		microagent_unconfined(agent);
	progress_start(&progress, "booting");
	if (open_session(cli, &progress, id, args->items[0], &sessions, &session, err) == 0)
		code = start_in(cli, agent, id, args->items[0], session, v->prepare, &progress,
				err);
	microagent_session_close(session);
	microagent_close(sessions);
	microagent_close(agent);
	return code;
}

const struct cli_command cli_start = {
	.name = "start",
	.args = "NAME",
	.summary = "boot a workspace; answers when its guest is ready",
	.help = "Kernel, initrd and guest init must be those that were recorded when the workspace\n"
		"was created; before the first start, the disk too. After an upgrade of microagent or\n"
		"of the kernel, --prepare accepts the present ones.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.options = start_options,
	.values_size = sizeof(struct start_values),
	.min_args = 1,
	.max_args = 1,
	.run = run_start,
};
