/* SPDX-License-Identifier: MIT */
/* base: manages the bases from which sessions are cloned. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/session/base.h"

/* --- list ------------------------------------------------------------------------------------ */

static int add_base_row(struct cli_table *table, const json_t *base, struct error *err)
{
	const json_t *disk = json_object_get(base, "disk");
	const char *sha256 = json_text(disk, "sha256", NULL);
	const json_t *template = json_object_get(base, "template");
	char mib[24] = "", digest[13] = "";

	if (disk)
		snprintf(mib, sizeof(mib), "%" PRIdMAX,
			 (intmax_t)json_integer_value(json_object_get(disk, "bytes")) >> 20);
	if (sha256)
		snprintf(digest, sizeof(digest), "%.12s", sha256);
	const char *const cells[] = {
		json_text(base, "name", NULL),
		json_text(base, "createdAt", NULL),
		json_text(base, "architecture", NULL),
		mib[0] ? mib : NULL,
		digest[0] ? digest : NULL,
		!template			     ? "no"
		: json_object_get(template, "error") ? "damaged"
						     : "yes",
		json_text(json_object_get(base, "source"), "ref", NULL),
		json_text(base, "error", NULL),
	};

	return cli_table_row(table, cells, err);
}

static int print_bases(const json_t *bases, struct error *err)
{
	static const char *const heads[] = {"NAME",   "CREATED", "ARCH",    "MIB",
					    "SHA256", "WARM",	 "MADE OF", "DETAIL"};
	auto_table struct cli_table table = {0};
	const json_t *base;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(bases, i, base)
	{
		if (add_base_row(&table, base, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	if (json_array_size(bases) == 0)
		cli_warn("there is no base: `microagent base create NAME` makes one");
	return CLI_EXIT_OK;
}

static int run_base_list(struct cli *cli, const void *values, const struct cli_words *args,
			 struct error *err)
{
	const struct guest_list list = {microagent_base_list, "bases", print_bases};

	(void)values;
	(void)args;
	return guest_print_list(cli, &list, err);
}

/* --- show, verify, delete -------------------------------------------------------------------- */

static int run_base_show(struct cli *cli, const void *values, const struct cli_words *args,
			 struct error *err)
{
	struct microagent *agent = guest_open(cli, NULL, err);
	json_auto_t *base = NULL;
	autofree char *text = NULL;

	(void)values;
	if (!agent)
		return -1;
	base = microagent_base_show(agent, args->items[0], err);
	microagent_close(agent);
	if (!base)
		return -1;
	if (cli->json)
		return cli_print_json(base, err);
	text = json_pretty(base, err);
	if (text)
		printf("%s\n", text);
	return CLI_EXIT_OK;
}

static int print_checks(const json_t *answer, struct error *err)
{
	static const char *const heads[] = {"STATUS", "FILE", "DETAIL"};
	auto_table struct cli_table table = {0};
	const json_t *check;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(json_object_get(answer, "checks"), i, check)
	{
		const char *error = json_text(check, "error", NULL);
		const char *status = error				   ? "DIFFERS"
				     : json_object_get(check, "refreshed") ? "refreshed"
									   : "ok";
		const char *const cells[] = {status, json_text(check, "what", "?"),
					     error ? error : json_text(check, "file", NULL)};

		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	return json_is_true(json_object_get(answer, "ok")) ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

static int run_base_verify(struct cli *cli, const void *values, const struct cli_words *args,
			   struct error *err)
{
	struct microagent *agent = guest_open(cli, NULL, err);
	json_auto_t *answer = NULL;

	(void)values;
	if (!agent)
		return -1;
	answer = microagent_base_verify(agent, args->items[0], err);
	microagent_close(agent);
	if (!answer)
		return -1;
	if (!cli->json)
		return print_checks(answer, err);
	if (cli_print_json(answer, err) < 0)
		return -1;
	return json_is_true(json_object_get(answer, "ok")) ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

typedef int base_fn(struct microagent *agent, const char *word, struct error *err);

static int run_on_base(struct cli *cli, const char *name, base_fn *fn, const char *done,
		       struct error *err)
{
	struct microagent *agent = guest_open(cli, NULL, err);
	int status;

	if (!agent)
		return -1;
	status = fn(agent, name, err);
	microagent_close(agent);
	if (status < 0)
		return -1;
	if (cli->json) {
		json_auto_t *answer = json_pack("{s:b,s:s}", "ok", 1, "name", name);

		return cli_print_json(answer, err);
	}
	printf("%s: %s\n", name, done);
	return CLI_EXIT_OK;
}

static int run_base_delete(struct cli *cli, const void *values, const struct cli_words *args,
			   struct error *err)
{
	(void)values;
	return run_on_base(cli, args->items[0], microagent_base_delete, "deleted", err);
}

static int run_base_cool(struct cli *cli, const void *values, const struct cli_words *args,
			 struct error *err)
{
	(void)values;
	return run_on_base(cli, args->items[0], microagent_base_cool, "cool", err);
}

static const struct cli_command base_cool = {
	.name = "cool",
	.args = "BASE",
	.summary = "remove the template that `base warm` has saved",
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_cool,
};

static const struct cli_command base_list = {
	.name = "list",
	.summary = "the bases and what they were made of",
	.run = run_base_list,
};

static const struct cli_command base_show = {
	.name = "show",
	.args = "BASE",
	.summary = "show the record of a base",
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_show,
};

static const struct cli_command base_verify = {
	.name = "verify",
	.args = "BASE",
	.summary = "compare a base with its recorded digests",
	.help = "Ends with 1 if a file differs or is missing.\n",
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_verify,
};

static const struct cli_command base_delete = {
	.name = "delete",
	.args = "BASE-vN",
	.summary = "remove a base that no session uses",
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_delete,
};

static const struct cli_command *const base_commands[] = {
	&base_create, &base_list, &base_show,	&base_verify,
	&base_warm,   &base_cool, &base_delete, NULL,
};

const struct cli_command cli_base = {
	.name = "base",
	.args = "COMMAND",
	.summary = "the sealed disks that sessions are cloned from",
	.group = CLI_GROUP_HOST,
	.sub = base_commands,
};
