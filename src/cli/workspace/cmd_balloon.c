/* SPDX-License-Identifier: MIT */
/* balloon: gives memory of a running machine back to the host. */
#include "base/cleanup.h"
#include "cli/options/guest.h"

static long long number(const json_t *response, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(response, "balloon"), key));
}

static int run_balloon(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err)
{
	const char *name = args->items[0];
	json_auto_t *response = NULL;
	int64_t mib = 0;
	char id[GUEST_ID_ROOM];

	(void)values;
	if (guest_check_name(cli, name, err) < 0 ||
	    guest_read_mib(cli, args->items[1], &mib, err) < 0)
		return -1;
	struct microagent *agent = guest_open_at(cli, NULL, name, id, err);
	if (!agent)
		return -1;
	int result = microagent_balloon(agent, id, mib, &response, err);
	microagent_close(agent);
	if (result < 0)
		return -1;
	if (cli->json)
		return cli_print_json(response, err);
	if (json_is_null(json_object_get(json_object_get(response, "balloon"), "actualMiB")))
		printf("%s: asked for %lld of %lld MiB; how much it gave up is not known\n", name,
		       (long long)mib, number(response, "memoryMiB"));
	else
		printf("%s: %lld of %lld MiB\n", name, number(response, "actualMiB"),
		       number(response, "memoryMiB"));
	return CLI_EXIT_OK;
}

const struct cli_command cli_balloon = {
	.name = "balloon",
	.args = "NAME MIB",
	.summary = "set how much of its memory a running machine may have",
	.help = "From 64 MiB to what the machine was booted with. The host gets back what the guest\n"
		"gives up. A guest gives up what it can spare; what it then has is printed.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.min_args = 2,
	.max_args = 2,
	.run = run_balloon,
};
