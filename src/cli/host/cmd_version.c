/* SPDX-License-Identifier: MIT */
/* version: prints the version of this program. */
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"

static int run_version(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err)
{
	json_auto_t *answer = json_object();

	(void)values;
	(void)args;
	if (!cli->json) {
		printf("microagent %s\n", microagent_version());
		return CLI_EXIT_OK;
	}
	if (json_put_string(answer, "version", microagent_version(), err) < 0)
		return -1;
	return cli_print_json(answer, err);
}

const struct cli_command cli_version = {
	.name = "version",
	.summary = "the version of microagent",
	.group = CLI_GROUP_HOST,
	.run = run_version,
};
