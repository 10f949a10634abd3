/* SPDX-License-Identifier: MIT */
/* changes: lists what a guest has changed in the directories that are shared with it, and brings
 * changes to the host. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/workspace/changes.h"
#include "cli/workspace/review.h"

struct changes_values {
	bool shared, stat, diff;
	const char *digest;
	int64_t limit;
};

static const struct cli_option changes_options[] = {
	{"shared", 0, CLI_OPTION_FLAG, offsetof(struct changes_values, shared), NULL,
	 "list changed autorun files of writable directories, not the changes of a review", 0, 0},
	{"stat", 0, CLI_OPTION_FLAG, offsetof(struct changes_values, stat), NULL,
	 "only print how many files have changed", 0, 0},
	{"diff", 0, CLI_OPTION_FLAG, offsetof(struct changes_values, diff), NULL,
	 "print the changes as a patch for `git apply`", 0, 0},
	{"digest", 0, CLI_OPTION_STRING, offsetof(struct changes_values, digest), "DIGEST",
	 "with apply: only if the changes that were listed last have this digest", 0, 0},
	{"limit", 0, CLI_OPTION_SIZE, offsetof(struct changes_values, limit), "SIZE",
	 "refuse to fetch more than this (default: 4G): bytes, or a number with K, M, G or T", 0,
	 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

/* The number of files that a warning names for each directory. */
#define WARNED_FILES 20

static const char READ_FIRST[] =
	"read these files (`cat -v`) before you use the directory: a guest can have written them";
static const char GIT_SAFELY[] =
	"`git -c core.fsmonitor=false -c core.hooksPath=/dev/null status` runs no hook. But git still runs the filters and programs that the changed config names, so read the config first";

static bool is_of_git(const char *path)
{
	const char *found = strstr(path, ".git");

	return found && (found == path || found[-1] == '/') && (found[4] == '/' || !found[4]);
}

/* Warns about what was not searched in a directory, and tells how to look at the files that were
 * found there. */
static void advise(const struct cli *cli, const json_t *share)
{
	const json_t *files = json_object_get(share, "files"), *file;
	size_t i;

	if (json_object_get(share, "incomplete"))
		guest_warn(
			cli,
			"a part of %.150s was not searched for changed autorun files: it is too large or too deep, or cannot be read",
			json_text(share, "path", ""));
	if (json_array_size(files) > 0)
		guest_warn(cli, "%s", READ_FIRST);
	json_array_foreach(files, i, file)
	{
		if (is_of_git(json_text(file, "path", ""))) {
			guest_warn(cli, "%s", GIT_SAFELY);
			break;
		}
	}
}

/* --- after a run ----------------------------------------------------------------------------- */

static void warn_of_share(const struct cli *cli, const json_t *share)
{
	const json_t *files = json_object_get(share, "files"), *file;
	const char *dir = json_text(share, "path", ""), *why = json_text(share, "error", NULL);
	size_t count = json_array_size(files), i;

	if (why)
		guest_warn(cli, "%.150s was not searched for changed autorun files: %.150s", dir,
			   why);
	json_array_foreach(files, i, file)
	{
		if (i == WARNED_FILES)
			break;
		guest_warn(cli, "%.150s/%.200s has changed while the guest could write to it: %s",
			   dir, json_text(file, "path", ""), json_text(file, "by", ""));
	}
	if (count > WARNED_FILES)
		guest_warn(cli, "%zu%s more files like these have changed in %.150s",
			   count - WARNED_FILES, json_object_get(share, "more") ? " or" : "", dir);
	advise(cli, share);
}

static void warn_of_word(const struct cli *cli, const char *word, int64_t since_ns)
{
	json_auto_t *changes = NULL;
	struct error why = {0};
	const json_t *share;
	size_t i;

	if (microagent_autorun_files(word, since_ns, &changes, &why) < 0)
		guest_warn(cli, "%.150s was not searched for changed autorun files: %.300s", word,
			   why.msg);
	json_array_foreach(json_object_get(changes, "shares"), i, share) warn_of_share(cli, share);
}

void changes_warn(const struct cli *cli, const struct guest_values *values, int64_t since_ns)
{
	const struct cli_words *shares = &values->machine.shares;

	for (size_t i = 0; i < shares->count; i++) {
		autofree char *repository = values->machine.asked.share_git
						    ? microagent_git_outside(shares->items[i], NULL)
						    : NULL;

		warn_of_word(cli, shares->items[i], since_ns);
		if (repository)
			warn_of_word(cli, repository, since_ns);
	}
}

/* --- the command ----------------------------------------------------------------------------- */

static int print_files(const json_t *files, struct error *err)
{
	static const char *const heads[] = {"changed file", "which program uses it"};
	auto_table struct cli_table table = {0};
	const json_t *file;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(files, i, file)
	{
		const char *const cells[] = {json_text(file, "path", ""),
					     json_text(file, "by", "")};

		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	return 0;
}

/* Prints what was found in one directory. Returns 0, 1 if the directory was not searched, or -1
 * with an error. */
static int print_share(const struct cli *cli, const json_t *share, struct error *err)
{
	const json_t *files = json_object_get(share, "files");
	const char *why = json_text(share, "error", NULL);

	cli_print_safe(stdout, json_text(share, "path", ""));
	if (why) {
		puts(": not searched");
		cli_warn("%s", why);
		return 1;
	}
	printf(", %s since %s\n",
	       json_array_size(files) > 0 ? "changed" : "no autorun file has changed",
	       json_text(share, "since", ""));
	if (json_array_size(files) > 0 && print_files(files, err) < 0)
		return -1;
	if (json_object_get(share, "more"))
		cli_warn("there are more such files than are listed");
	advise(cli, share);
	return 0;
}

static int print_changes(const struct cli *cli, const json_t *changes, const char *name,
			 struct error *err)
{
	const json_t *shares = json_object_get(changes, "shares"), *share;
	int code = CLI_EXIT_OK;
	size_t i;

	if (json_array_size(shares) == 0 && !cli->json)
		cli_warn("\"%s\" has no writable directory of the host", name);
	json_array_foreach(shares, i, share)
	{
		int status = cli->json ? json_object_get(share, "error") != NULL
				       : print_share(cli, share, err);

		if (status < 0)
			return -1;
		if (status > 0)
			code = CLI_EXIT_FAILED;
	}
	return cli->json && cli_print_json(changes, err) < 0 ? -1 : code;
}

static int list_shared(struct cli *cli, const char *name, struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	json_auto_t *changes = NULL;
	struct microagent *agent;
	char id[GUEST_ID_ROOM];
	int code;

	if (guest_check_name(cli, name, err) < 0)
		return -1;
	agent = guest_open_living(cli, &progress, name, id, err);
	if (!agent)
		return -1;
	progress_start(&progress, "searching the shared directories");
	code = microagent_shared_changes(agent, id, &changes, err);
	progress_end(&progress);
	microagent_close(agent);
	return code < 0 ? -1 : print_changes(cli, changes, name, err);
}

static int run_changes(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err)
{
	const struct changes_values *v = values;
	bool more = args->count > 1;
	bool apply = more && strcmp(args->items[0], "apply") == 0;
	bool drop = more && strcmp(args->items[0], "drop") == 0;
	bool refresh = more && strcmp(args->items[0], "refresh") == 0;
	bool verb = apply || drop || refresh;
	const char *name = args->items[verb];
	const char *const *paths = args->count > 1u + verb ? args->items + 1 + verb : NULL;

	if (v->shared + v->stat + v->diff > 1)
		return cli_usage(
			cli, err,
			"--shared, --stat and --diff exclude each other: give one of them");
	if (verb && (v->shared || v->stat || v->diff))
		return cli_usage(cli, err, "changes %s takes none of --shared, --stat and --diff",
				 args->items[0]);
	if (v->digest && !apply)
		return cli_usage(cli, err, "--digest is for `microagent changes apply NAME`");
	if ((drop || refresh || v->shared) && paths)
		return cli_usage(cli, err, "changes %s takes NAME alone, and no path",
				 v->shared ? "--shared" : args->items[0]);
	if (v->diff && cli->json)
		return cli_usage(
			cli, err,
			"--diff prints a patch, which is not JSON: leave out --json or --diff");
	if (v->shared)
		return list_shared(cli, name, err);
	if (apply)
		return review_bring(cli, name, v->digest, paths, err);
	if (drop)
		return review_forget(cli, name, err);
	if (refresh)
		return review_refresh(cli, name, err);
	return review_show(cli, name,
			   v->diff   ? REVIEW_PATCH
			   : v->stat ? REVIEW_STAT
				     : REVIEW_TABLE,
			   v->limit, paths, err);
}

const struct cli_command cli_changes = {
	.name = "changes",
	.args = "NAME [PATH...] | apply NAME [PATH...] | drop|refresh NAME",
	.summary = "what a guest changed in shared directories, to look at or take",
	.help = "Lists what the guest changed in directories that are shared with DIR:/PLACE:review.\n"
		"Nothing of it is on this host until `changes apply` brings it here: a file that was\n"
		"changed here meanwhile stays, and is a conflict. apply takes what was listed last.\n"
		"drop forgets all changes of a workspace that does not run; refresh takes the files of\n"
		"this host anew, if all changes are here. PATH is relative to the\n"
		"directory, or an absolute path of the guest.\n"
		"--shared lists files of writable shares that the host's programs run or obey:\n"
		".git/config, hooks of git, .envrc, .vscode, Makefile and the like.\n",
	.group = CLI_GROUP_OBSERVE,
	.options = changes_options,
	.values_size = sizeof(struct changes_values),
	.min_args = 1,
	.max_args = SIZE_MAX,
	.run = run_changes,
};
