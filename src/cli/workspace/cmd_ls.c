/* SPDX-License-Identifier: MIT */
/* ls: lists the files in a directory of a workspace. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/options/guest_path.h"

struct ls_values {
	bool is_long, itself;
	const char *user;
};

static const struct cli_option ls_options[] = {
	{"long", 'l', CLI_OPTION_FLAG, offsetof(struct ls_values, is_long), NULL,
	 "show mode, owner, size and time too", 0, 0},
	{"directory", 'd', CLI_OPTION_FLAG, offsetof(struct ls_values, itself), NULL,
	 "the directory or link itself, not its contents", 0, 0},
	{"user", 'u', CLI_OPTION_GUEST, offsetof(struct ls_values, user), "USER",
	 "user who reads it (default: the image's user, else uid 1000)", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static int64_t entry_number(const json_t *entry, const char *key)
{
	return json_integer_value(json_object_get(entry, key));
}

/* The types of files. `letter` is the first character of a line of the long list. `mark` comes
 * after the name in the short list. */
static const struct type_row {
	const char *name;
	char letter;
	const char *mark;
} types[] = {
	{"directory", 'd', "/"}, {"link", 'l', "@"}, {"fifo", 'p', "|"}, {"socket", 's', "="},
	{"block", 'b', ""},	 {"char", 'c', ""},  {"file", '-', ""},
};

static const struct type_row *type_of(const json_t *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(types[i].name, json_text(entry, "type", "")) == 0)
			return &types[i];
	return &types[ARRAY_SIZE(types) - 1];
}

static void fill_mode(const json_t *entry, char out[11])
{
	static const char letters[] = "rwxrwxrwx", special[] = "sst";
	unsigned mode = (unsigned)entry_number(entry, "mode");

	out[0] = type_of(entry)->letter;
	for (unsigned i = 0; i < 9; i++)
		out[1 + i] = mode & (0400u >> i) ? letters[i] : '-';
	for (unsigned i = 0; i < 3; i++)
		if (mode & (04000u >> i))
			out[3 + 3 * i] =
				mode & (0100u >> (3 * i)) ? special[i] : (char)(special[i] - 32);
	out[10] = '\0';
}

static int add_long(struct cli_table *table, const json_t *entry, int width, struct error *err)
{
	char mode[11], owner[48], size[24], when[32] = "", name[8300];
	time_t mtime = (time_t)entry_number(entry, "mtime");
	struct tm tm;
	const char *target = json_text(entry, "target", "");
	const char *const cells[] = {mode, owner, size, when, name};

	fill_mode(entry, mode);
	if (localtime_r(&mtime, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	snprintf(owner, sizeof(owner), "%" PRId64 ":%" PRId64, entry_number(entry, "uid"),
		 entry_number(entry, "gid"));
	snprintf(size, sizeof(size), "%*" PRId64, width, entry_number(entry, "size"));
	snprintf(name, sizeof(name), "%s%s%s", json_text(entry, "name", ""), *target ? " -> " : "",
		 target);
	return cli_table_row(table, cells, err);
}

static int print_long(const json_t *entries, struct error *err)
{
	static const char *const heads[] = {"mode", "owner", "bytes", "modified", "name"};
	auto_table struct cli_table table = {0};
	const json_t *entry;
	int width = 1; /* the number of digits of the largest size */
	size_t i;

	json_array_foreach(entries, i, entry)
	{
		int len = snprintf(NULL, 0, "%" PRId64, entry_number(entry, "size"));

		width = len > width ? len : width;
	}

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(entries, i, entry)
	{
		if (add_long(&table, entry, width, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	return CLI_EXIT_OK;
}

/* Asks for the entries of a directory; with --directory, for the entry of the directory itself. */
static json_t *ask(struct microagent *agent, const char *name, const char *path,
		   const struct ls_values *values, struct error *err)
{
	json_auto_t *answer = NULL;
	json_t *entry;

	if (!values->itself)
		return microagent_list_files(agent, name, path, values->user, err);
	entry = microagent_stat_file(agent, name, path, values->user, err);
	answer = json_object();
	if (!entry || json_put(answer, "path", json_string_lossy(path, strlen(path)), err) < 0 ||
	    json_put(answer, "entries", json_pack("[o]", entry), err) < 0)
		return NULL;
	return steal_ptr(&answer);
}

static int list_files(struct cli *cli, const char *name, const char *path,
		      const struct ls_values *values, struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	char id[GUEST_ID_ROOM];
	struct microagent *agent = guest_open_at(cli, &progress, name, id, err);
	json_auto_t *answer = NULL;
	const json_t *entries, *entry;
	size_t i;

	if (!agent)
		return -1;
	progress_start(&progress, "listing");
	answer = ask(agent, id, path, values, err);
	microagent_close(agent);
	progress_end(&progress);
	if (!answer)
		return guest_path_error(name, err);
	if (cli->json)
		return cli_print_json(answer, err);
	entries = json_object_get(answer, "entries");
	if (values->is_long)
		return print_long(entries, err);
	json_array_foreach(entries, i, entry)
	{
		cli_print_safe(stdout, json_text(entry, "name", ""));
		printf("%s\n", type_of(entry)->mark);
	}
	return CLI_EXIT_OK;
}

static int run_ls(struct cli *cli, const void *values, const struct cli_words *args,
		  struct error *err)
{
	const char *path = NULL;
	char name[64];

	if (args->count == 2) {
		if (guest_check_name(cli, args->items[0], err) < 0 ||
		    guest_check_path(cli, args->items[1], err) < 0)
			return -1;
		if (args->items[1][0] != '/')
			return cli_usage(
				cli, err,
				"%s: the path in the workspace must be absolute: write /PATH",
				args->items[1]);
		return list_files(cli, args->items[0], args->items[1], values, err);
	}
	if (guest_path_parse(args->items[0], name, &path))
		return guest_check_name(cli, name, err) < 0 || guest_check_path(cli, path, err) < 0
			       ? -1
			       : list_files(cli, name, path, values, err);
	if (strchr(args->items[0], ':') || strchr(args->items[0], '/'))
		return cli_usage(cli, err,
				 "%s: the path in the workspace must be absolute: write NAME:/PATH",
				 args->items[0]);
	return guest_check_name(cli, args->items[0], err) < 0
		       ? -1
		       : list_files(cli, args->items[0], "/", values, err);
}

const struct cli_command cli_ls = {
	.name = "ls",
	.args = "NAME[:/PATH] | NAME /PATH",
	.summary = "list a directory of a workspace",
	.help = "The list is sorted by name. Without a path it is of the root directory. A machine\n"
		"that runs nothing of the workspace reads a workspace that is not running.\n",
	.group = CLI_GROUP_RUN,
	.options = ls_options,
	.values_size = sizeof(struct ls_values),
	.min_args = 1,
	.max_args = 2,
	.run = run_ls,
};
