/* SPDX-License-Identifier: MIT */
/* artifacts: lists the bundles that a workspace gets and the outputs that it writes. Also fetches
 * outputs. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/workspace/copy.h"

struct artifacts_values {
	int64_t limit;
};

static const struct cli_option artifacts_options[] = {
	{"limit", 0, CLI_OPTION_SIZE, offsetof(struct artifacts_values, limit), "SIZE",
	 COPY_LIMIT_HELP, 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static int add_artifact_rows(struct cli_table *table, const json_t *list_artifacts,
			     const char *where, struct error *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list_artifacts, i, item)
	{
		const char *const cells[] = {json_text(item, "name", ""),
					     json_text(item, "kind", ""),
					     json_text(item, where, "")};

		if (cli_table_row(table, cells, err) < 0)
			return -1;
	}
	return 0;
}

static int list_artifacts(struct cli *cli, struct microagent *agent, const char *id,
			  const char *name, struct error *err)
{
	static const char *const heads[] = {"artifact", "kind", "in the guest"};
	auto_table struct cli_table table = {0};
	json_auto_t *artifacts = NULL;

	if (microagent_artifacts(agent, id, &artifacts, err) < 0)
		return -1;
	if (cli->json)
		return cli_print_json(artifacts, err);
	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0 ||
	    add_artifact_rows(&table, json_object_get(artifacts, "ingress"), "mountpoint", err) <
		    0 ||
	    add_artifact_rows(&table, json_object_get(artifacts, "egress"), "path", err) < 0)
		return -1;
	cli_table_print(&table, stdout);
	if (table.count == table.columns)
		cli_warn("workspace \"%s\" has neither bundles nor outputs", name);
	return CLI_EXIT_OK;
}

/* Fetches an output. `words` has the name of the output and the target on this host. */
static int get(struct cli *cli, struct microagent *agent, const char *id, const char *const *words,
	       int64_t limit, struct progress *progress, struct error *err)
{
	struct copy_notes notes;
	const struct copy_target target = {.path = words[1], .source = words[0]};
	int status;

	if (copy_notes_init(&notes, cli, progress, err) < 0)
		return -1;
	const struct microagent_copy options = copy_options(&notes, NULL, limit);

	progress_start(progress, "reading the disk");
	status = microagent_artifact_get(agent, id, words[0], words[1], &options, err);
	if (status < 0)
		copy_name_target(&target, err);
	progress_end(progress);
	return copy_answer(&notes, status, err);
}

static int run_artifacts(struct cli *cli, const void *values, const struct cli_words *args,
			 struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct artifacts_values *v = values;
	bool getting = args->count == 4 && strcmp(args->items[0], "get") == 0;
	const char *name = args->items[getting ? 1 : 0];
	struct microagent *agent;
	char id[GUEST_ID_ROOM];
	int code;

	if (!getting && (args->count != 1 || v->limit))
		return cli_usage(
			cli, err,
			"write `microagent artifacts NAME`, or `microagent artifacts get NAME ARTIFACT TARGET`");
	if (guest_check_name(cli, name, err) < 0 ||
	    (getting && copy_refuse_dash(cli, args->items[3], err) < 0))
		return -1;
	agent = guest_open_at(cli, &progress, name, id, err);
	if (!agent)
		return -1;
	code = getting ? get(cli, agent, id, args->items + 2, v->limit, &progress, err)
		       : list_artifacts(cli, agent, id, name, err);
	microagent_close(agent);
	return code;
}

const struct cli_command cli_artifacts = {
	.name = "artifacts",
	.args = "NAME | get NAME ARTIFACT TARGET",
	.summary = "bundles and outputs that a workspace declares; fetch an output",
	.help = "An output is read from the disk by a machine that runs nothing of the workspace. If\n"
		"the workspace runs, its file system is frozen while its disk is copied.\n",
	.group = CLI_GROUP_OBSERVE,
	.options = artifacts_options,
	.values_size = sizeof(struct artifacts_values),
	.min_args = 1,
	.max_args = 4,
	.run = run_artifacts,
};
