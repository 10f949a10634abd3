/* SPDX-License-Identifier: MIT */
/* clone: a second workspace like one at rest. */
#include "base/cleanup.h"
#include "cli/options/guest.h"

static int clone_in(struct cli *cli, struct microagent *agent, const struct cli_words *args,
		    struct progress *progress, struct error *err)
{
	json_auto_t *response = NULL;
	char itself[CLI_ITSELF];

	if (microagent_clone(agent, args->items[0], args->items[1], &response, err) < 0)
		return -1;
	progress_end(progress);
	if (cli->json)
		return cli_print_json(response, err);
	printf("%s: prepared; `%s start %s` boots it\n", args->items[1], cli_itself(cli, itself),
	       args->items[1]);
	return CLI_EXIT_OK;
}

static int run_clone(struct cli *cli, const void *values, const struct cli_words *args,
		     struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	struct microagent *agent;
	int code;

	(void)values;
	if (guest_check_name(cli, args->items[0], err) < 0 ||
	    guest_check_name(cli, args->items[1], err) < 0)
		return -1;
	agent = guest_open(cli, &progress, err);
	if (!agent)
		return -1;
	progress_start(&progress, "copying the disks");
	code = clone_in(cli, agent, args, &progress, err);
	microagent_close(agent);
	return code;
}

const struct cli_command cli_clone = {
	.name = "clone",
	.args = "NAME NEW",
	.summary = "a new workspace with copies of a stopped one's disks",
	.help = "The config is the source's. Its writable disks are copied, what is read-only is\n"
		"shared, and bundles are made anew of their archives. Published ports and shares\n"
		"are kept, so the two cannot run at once if a port is published.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.min_args = 2,
	.max_args = 2,
	.run = run_clone,
};
