/* SPDX-License-Identifier: MIT */
/* clone: makes a new workspace as a copy of a workspace whose machine does not run. */
#include "base/cleanup.h"
#include "cli/options/guest.h"

static int run_clone(struct cli *cli, const void *values, const struct cli_words *args,
		     struct error *err)
{
	const char *source = args->items[0], *target = args->items[1];
	autoprogress struct progress progress = PROGRESS_INIT;
	json_auto_t *response = NULL;
	struct microagent *agent;
	char itself[CLI_ITSELF];
	int status;

	(void)values;
	if (guest_check_name(cli, source, err) < 0 || guest_check_name(cli, target, err) < 0)
		return -1;
	agent = guest_open(cli, &progress, err);
	if (!agent)
		return -1;
	progress_start(&progress, "copying the disks");
	status = microagent_clone(agent, source, target, &response, err);
	microagent_close(agent);
	if (status < 0)
		return -1;
	progress_end(&progress);
	if (cli->json)
		return cli_print_json(response, err);
	printf("%s: prepared; `%s start %s` boots it\n", target, cli_itself(cli, itself), target);
	return CLI_EXIT_OK;
}

const struct cli_command cli_clone = {
	.name = "clone",
	.args = "NAME NEW",
	.summary = "a new workspace with copies of a stopped one's disks",
	.help = "The config is the source's. Writable disks are copied, read-only ones are used by both,\n"
		"and bundles are made again from their archives. Published ports and shares are kept,\n"
		"so the two cannot run at once if a port is published.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.min_args = 2,
	.max_args = 2,
	.run = run_clone,
};
