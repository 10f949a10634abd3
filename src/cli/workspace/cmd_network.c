/* SPDX-License-Identifier: MIT */
/* network: shows what a workspace can reach, and at which addresses of the host its ports are
 * published. Also changes both of these. */
#include <stdio.h>
#include <string.h>

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

/* Adds a row for each port. The row tells whether the port is published now, or will be published
 * when the workspace runs. */
static int publish_rows(struct cli_table *table, const json_t *forwards, bool running,
			struct error *err)
{
	const json_t *f;
	size_t i;

	json_array_foreach(forwards, i, f)
	{
		const char *host = json_text(f, "host", "");
		char line[128];

		snprintf(line, sizeof(line),
			 strchr(host, ':') ? "[%s]:%d to port %d" : "%s:%d to port %d", host,
			 (int)json_integer_value(json_object_get(f, "hostPort")),
			 (int)json_integer_value(json_object_get(f, "guestPort")));
		if (network_row(table, running ? "published" : "to publish", line, err) < 0)
			return -1;
	}
	return 0;
}

static int egress_rows(struct cli_table *table, const json_t *egress, struct error *err)
{
	if (!egress)
		return 0;
	if (list_row(table, "egress", json_object_get(egress, "names"), err) < 0 ||
	    list_row(table, "egress to", json_object_get(egress, "prefixes"), err) < 0 ||
	    (!json_object_get(egress, "names") && !json_object_get(egress, "prefixes") &&
	     network_row(table, "egress", "nothing", err) < 0) ||
	    network_row(table, "sni", json_text(egress, "sni", NULL), err) < 0)
		return -1;
	return json_is_true(json_object_get(egress, "dryRun"))
		       ? network_row(table, "dry run", "nothing is refused, only recorded", err)
		       : 0;
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
	    egress_rows(&table, json_object_get(network, "egress"), err) < 0 ||
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

static int show_network(struct cli *cli, const char *name, struct error *err)
{
	struct microagent *agent;
	json_auto_t *answer = NULL;
	char id[GUEST_ID_ROOM];

	if (guest_check_name(cli, name, err) < 0)
		return -1;
	agent = guest_open_at(cli, NULL, name, id, err);
	if (!agent)
		return -1;
	answer = microagent_network(agent, id, err);
	microagent_close(agent);
	if (!answer)
		return -1;
	return cli->json ? cli_print_json(answer, err) : print_network(name, answer, err);
}

/* --- changes while the workspace runs -------------------------------------------------------- */

static const struct {
	const char *word;
	enum microagent_network_change change;
	const char *done; /* the end of the message that is printed after success */
} verbs[] = {
	{"allow", MICROAGENT_NETWORK_ALLOW, "is allowed"},
	{"deny", MICROAGENT_NETWORK_DENY, "is no longer allowed"},
	{"publish", MICROAGENT_NETWORK_PUBLISH, "is published"},
	{"unpublish", MICROAGENT_NETWORK_UNPUBLISH, "is no longer published"},
};

/* Changes the network. With --json prints the new network, in the form in which `network` prints
 * it. */
static int change_network(struct cli *cli, size_t verb, const char *name, const char *word,
			  struct error *err)
{
	struct microagent *agent;
	struct error why = {0};
	char id[GUEST_ID_ROOM];
	int status;

	if (microagent_check_network_change(verbs[verb].change, word, &why) < 0)
		return cli_usage_error(cli, &why, err);
	if (guest_check_name(cli, name, err) < 0)
		return -1;
	agent = guest_open_at(cli, NULL, name, id, err);
	if (!agent)
		return -1;
	status = microagent_change_network(agent, id, verbs[verb].change, word, NULL, err);
	microagent_close(agent);
	if (status < 0 || cli->json)
		return status < 0 ? -1 : show_network(cli, name, err);
	printf("%s: %s %s\n", name, word, verbs[verb].done);
	return CLI_EXIT_OK;
}

static int run_network(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err)
{
	(void)values;
	if (args->count == 1)
		return show_network(cli, args->items[0], err);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (args->count == 3 && strcmp(args->items[0], verbs[i].word) == 0)
			return change_network(cli, i, args->items[1], args->items[2], err);
	return cli_usage(
		cli, err,
		"network needs other words: write `microagent network NAME`, or allow, deny, publish or unpublish with NAME and WHAT");
}

const struct cli_command cli_network = {
	.name = "network",
	.args = "NAME | allow|deny|publish|unpublish NAME WHAT",
	.summary = "what a workspace can reach, and its addresses; and change this",
	.help = "It shows what was prepared; while the workspace runs also the guest's address, gateway\n"
		"and resolver.\n"
		"allow and deny take HOST[:PORT,...], as --egress does; the workspace must have been\n"
		"made with --egress. publish takes [HOST:]HOSTPORT:GUESTPORT, as --publish does;\n"
		"unpublish takes [HOST:]HOSTPORT. A change also holds for the next start.\n",
	.group = CLI_GROUP_OBSERVE,
	.min_args = 1,
	.max_args = 3,
	.run = run_network,
};
