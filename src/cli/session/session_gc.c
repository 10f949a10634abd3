/* SPDX-License-Identifier: MIT */
/* session gc: what a crash or a reboot has left. */
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "microagent_session.h"

static int add_gc_rows(struct cli_table *table, const json_t *list, const char *what,
		       struct error *err)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		const char *const cells[] = {json_text(entry, "name", NULL), what,
					     json_text(entry, "why", NULL)};

		if (cli_table_row(table, cells, err) < 0)
			return -1;
	}
	return 0;
}

static int print_orphans(const json_t *answer, struct error *err)
{
	static const char *const heads[] = {"NAME", "DONE", "WHY"};
	const json_t *removed = json_object_get(answer, "removed");
	const json_t *adopted = json_object_get(answer, "adopted");
	const json_t *left = json_object_get(answer, "left");
	auto_table struct cli_table table = {0};

	if (json_array_size(removed) + json_array_size(adopted) + json_array_size(left) == 0) {
		printf("nothing was left behind\n");
		return 0;
	}
	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0 ||
	    add_gc_rows(&table, removed, "removed", err) < 0 ||
	    add_gc_rows(&table, adopted, "adopted", err) < 0 ||
	    add_gc_rows(&table, left, "left", err) < 0)
		return -1;
	cli_table_print(&table, stdout);
	return 0;
}

static int run_gc(struct cli *cli, const void *values, const struct cli_words *args,
		  struct error *err)
{
	json_auto_t *answer =
		guest_ask(cli, "looking for what was left behind", microagent_session_gc, err);

	(void)values;
	(void)args;
	if (!answer)
		return -1;
	if ((cli->json ? cli_print_json(answer, err) : print_orphans(answer, err)) < 0)
		return -1;
	return json_object_get(answer, "left") ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

const struct cli_command session_gc = {
	.name = "gc",
	.summary = "remove or record what a crash or a reboot has left",
	.run = run_gc,
};
