/* SPDX-License-Identifier: MIT */
/* host: shows what the supervisor reports about this host. */
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"

static int add_host_rows(struct cli_table *table, const char *prefix, const json_t *block,
			 struct error *err)
{
	const char *key;
	json_t *value;

	/* Casts const away, since the macro needs a pointer without const. The loop changes
	 * nothing. */
	json_object_foreach((json_t *)(uintptr_t)block, key, value)
	{
		autofree char *other = json_is_string(value) ? NULL : json_line(value, NULL);
		char name[64];
		const char *const cells[] = {name, other ? other : json_string_value(value)};

		snprintf(name, sizeof(name), "%s%s", prefix, key);
		if (!json_is_array(value) && cli_table_row(table, cells, err) < 0)
			return -1;
	}
	return 0;
}

/* Adds a row for each architecture in "machines". Other lists of the answer are not shown. */
static int add_machines(struct cli_table *table, const json_t *machines, struct error *err)
{
	const json_t *row;
	size_t i;

	json_array_foreach(machines, i, row)
	{
		bool had = json_is_true(json_object_get(row, "available"));
		char name[64];
		const char *const cells[] = {name,
					     had ? "available" : json_text(row, "reason", "")};

		snprintf(name, sizeof(name), "machines.%s", json_text(row, "architecture", ""));
		if (cli_table_row(table, cells, err) < 0)
			return -1;
	}
	return 0;
}

static int print_host(const json_t *response, struct error *err)
{
	static const char *const heads[] = {"FACT", "VALUE"};
	const json_t *host = json_object_get(response, "host");
	auto_table struct cli_table table = {0};

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0 ||
	    add_host_rows(&table, "", host, err) < 0 ||
	    add_machines(&table, json_object_get(host, "machines"), err) < 0 ||
	    add_host_rows(&table, "kernel.", json_object_get(response, "kernel"), err) < 0)
		return -1;
	cli_table_print(&table, stdout);
	return CLI_EXIT_OK;
}

struct host_values {
	const char *backend;
};

static int run_host(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	const struct host_values *v = values;
	json_auto_t *response = NULL;
	struct microagent *agent;
	int result;

	(void)args;
	if (guest_take_backend(cli, v->backend, err) < 0)
		return -1;
	agent = guest_open(cli, NULL, err);
	if (!agent)
		return -1;
	result = microagent_host(agent, &response, err);
	microagent_close(agent);
	if (result < 0)
		return -1;
	return cli->json ? cli_print_json(response, err) : print_host(response, err);
}

static const struct cli_option host_options[] = {
	GUEST_BACKEND(struct host_values),
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

const struct cli_command cli_host = {
	.name = "host",
	.summary = "the supervisor's facts about this host",
	.help = "`microagent doctor` judges them.\n",
	.group = CLI_GROUP_HOST,
	.options = host_options,
	.values_size = sizeof(struct host_values),
	.run = run_host,
};
