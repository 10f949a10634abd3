/* SPDX-License-Identifier: MIT */
/* inspect: prints the supervisor's answer about a workspace, unchanged. */
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"

static int run_inspect(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err)
{
	json_auto_t *response = NULL;
	autofree char *text = NULL;
	struct microagent *agent;
	char id[GUEST_ID_ROOM];
	int status;

	(void)values;
	if (guest_check_name(cli, args->items[0], err) < 0)
		return -1;
	agent = guest_open_at(cli, NULL, args->items[0], id, err);
	if (!agent)
		return -1;
	status = microagent_status(agent, id, &response, err);
	microagent_close(agent);
	if (status < 0)
		return -1;
	if (cli->json)
		return cli_print_json(response, err);
	text = json_pretty(response, err);
	if (!text)
		return -1;
	puts(text);
	return CLI_EXIT_OK;
}

const struct cli_command cli_inspect = {
	.name = "inspect",
	.args = "NAME",
	.summary = "everything about a workspace, as JSON",
	.help = "The supervisor's answer to `inspect`: indented, or with --json in one line.\n"
		"`microagent status` says the same for people.\n",
	.group = CLI_GROUP_OBSERVE,
	.min_args = 1,
	.max_args = 1,
	.run = run_inspect,
};
