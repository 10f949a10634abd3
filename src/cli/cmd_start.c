/* SPDX-License-Identifier: MIT */
/* start: boots a workspace. */
#include "base/cleanup.h"
#include "cli/guest.h"

static int start_in(struct cli *cli, struct microagent *agent, const char *name,
		    struct progress *progress, struct error *err)
{
	json_auto_t *response = NULL;
	char accelerator[8] = "";

	if (microagent_start(agent, name, &response, err) < 0)
		return -1;
	progress_end(progress);
	if (microagent_accelerator(agent, name, accelerator, NULL) == 0)
		guest_warn_accelerator(cli, accelerator);
	if (cli->json)
		return cli_print_json(response, err);
	printf("%s: running; `microagent exec %s -- CMD` runs something in it\n", name, name);
	return CLI_EXIT_OK;
}

static int run_start(struct cli *cli, const void *values, const struct cli_words *args,
		     struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	struct microagent *agent;
	int code;

	(void)values;
	if (guest_check_name(cli, args->items[0], err) < 0)
		return -1;
	agent = guest_open(cli, &progress, err);
	if (!agent)
		return -1;
	progress_start(&progress, "booting");
	code = start_in(cli, agent, args->items[0], &progress, err);
	microagent_close(agent);
	return code;
}

const struct cli_command cli_start = {
	.name = "start",
	.args = "NAME",
	.summary = "boot a workspace; answers when its guest is ready",
	.group = CLI_GROUP_LIFECYCLE,
	.min_args = 1,
	.max_args = 1,
	.run = run_start,
};
