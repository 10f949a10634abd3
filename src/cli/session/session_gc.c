/* SPDX-License-Identifier: MIT */
/* session gc: removes what sessions have left behind after a crash or a reboot. */
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "microagent_session.h"

struct gc_values {
	int64_t archives_older;
};

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

static int remove_archives(const struct cli *cli, const struct gc_values *v, json_t *answer,
			   struct error *err)
{
	static const char *const lists[] = {"removed", "left"};
	struct microagent *agent = guest_open(cli, NULL, err);
	json_auto_t *done =
		agent ? microagent_archive_remove_older(agent, v->archives_older, err) : NULL;

	microagent_close(agent);
	if (!done)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		json_t *more = json_object_get(done, lists[i]);
		json_t *list = json_object_get(answer, lists[i]);

		if (more && (list ? json_array_extend(list, more)
				  : json_object_set(answer, lists[i], more)) < 0)
			return error_set(err, ERR_IO, "out of memory");
	}
	return 0;
}

static int run_gc(struct cli *cli, const void *values, const struct cli_words *args,
		  struct error *err)
{
	json_auto_t *answer =
		guest_ask(cli, "looking for what was left behind", microagent_session_gc, err);
	const struct gc_values *v = values;

	(void)args;
	if (!answer || (v->archives_older && remove_archives(cli, v, answer, err) < 0))
		return -1;
	if ((cli->json ? cli_print_json(answer, err) : print_orphans(answer, err)) < 0)
		return -1;
	return json_object_get(answer, "left") ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

static const struct cli_option gc_options[] = {
	{"archives-older", 0, CLI_OPTION_DURATION, offsetof(struct gc_values, archives_older),
	 "AGE", "also remove the archives of sessions destroyed longer ago than this, like 30d", 0,
	 0},
	{0},
};

const struct cli_command session_gc = {
	.name = "gc",
	.options = gc_options,
	.values_size = sizeof(struct gc_values),
	.summary = "remove or record what a crash or a reboot left behind",
	.run = run_gc,
};
