/* SPDX-License-Identifier: MIT */
/* network: what a workspace can reach, and at which addresses it is. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"

static int network_row(struct cli_table *table, const char *name, const char *value,
		       struct error *err)
{
	const char *const cells[] = {name, value};

	return value && *value ? cli_table_row(table, cells, err) : 0;
}

static int list_row(struct cli_table *table, const char *name, const json_t *list,
		    struct error *err)
{
	autobuf struct buf words = BUF_INIT(0);
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (buf_printf(&words, err, "%s%s", i ? ", " : "", json_string_value(item)) < 0)
			return -1;
	}
	return words.len ? network_row(table, name, buf_string(&words), err) : 0;
}

/* A port is published while the workspace runs, else it is only meant to be. */
static int publish_rows(struct cli_table *table, const json_t *forwards, bool running,
			struct error *err)
{
	const json_t *f;
	size_t i;

	json_array_foreach(forwards, i, f)
	{
		char line[128];

		snprintf(line, sizeof(line), "%s:%d to port %d", json_text(f, "host", NULL),
			 (int)json_integer_value(json_object_get(f, "hostPort")),
			 (int)json_integer_value(json_object_get(f, "guestPort")));
		if (network_row(table, running ? "published" : "to publish", line, err) < 0)
			return -1;
	}
	return 0;
}

static int print_network(const char *name, const json_t *answer, struct error *err)
{
	const json_t *network = json_object_get(answer, "network");
	const json_t *runtime = json_object_get(answer, "runtime");
	const char *const heads[] = {"workspace", name};
	auto_table struct cli_table table = {0};

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0 ||
	    network_row(&table, "state", json_text(answer, "state", NULL), err) < 0 ||
	    network_row(&table, "mode", json_text(network, "mode", NULL), err) < 0 ||
	    network_row(&table, "interface", json_text(network, "interface", NULL), err) < 0 ||
	    list_row(&table, "allow", json_object_get(network, "allow"), err) < 0 ||
	    publish_rows(&table, json_object_get(network, "portForwards"), runtime != NULL, err) <
		    0 ||
	    network_row(&table, "detail", json_text(answer, "detail", NULL), err) < 0 ||
	    network_row(&table, "address", json_text(runtime, "ip", NULL), err) < 0 ||
	    network_row(&table, "subnet", json_text(runtime, "subnet", NULL), err) < 0 ||
	    network_row(&table, "gateway", json_text(runtime, "gateway", NULL), err) < 0 ||
	    list_row(&table, "dns", json_object_get(runtime, "dns"), err) < 0)
		return -1;
	cli_table_print(&table, stdout);
	return CLI_EXIT_OK;
}

static int run_network(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err)
{
	struct microagent *agent;
	json_auto_t *answer = NULL;
	char id[GUEST_ID_ROOM];

	(void)values;
	if (guest_check_name(cli, args->items[0], err) < 0)
		return -1;
	agent = guest_open_at(cli, NULL, args->items[0], id, err);
	if (!agent)
		return -1;
	answer = microagent_network(agent, id, err);
	microagent_close(agent);
	if (!answer)
		return -1;
	return cli->json ? cli_print_json(answer, err) : print_network(args->items[0], answer, err);
}

const struct cli_command cli_network = {
	.name = "network",
	.args = "NAME",
	.summary = "what a workspace can reach, and its addresses",
	.help = "As prepared; while the workspace runs also the guest's address, gateway and "
		"resolver.\n",
	.group = CLI_GROUP_OBSERVE,
	.min_args = 1,
	.max_args = 1,
	.run = run_network,
};
