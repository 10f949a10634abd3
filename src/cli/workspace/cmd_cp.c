/* SPDX-License-Identifier: MIT */
/* cp: copies files between the host and a workspace. */
#include <string.h>

#include "base/cleanup.h"
#include "cli/options/guest.h"
#include "cli/options/guest_path.h"
#include "cli/workspace/copy.h"

struct cp_values {
	const char *user;
	int64_t limit;
};

static const struct cli_option cp_options[] = {
	{"user", 'u', CLI_OPTION_GUEST, offsetof(struct cp_values, user), "USER",
	 "user who reads, or writes and owns, the files (default: the image's user, else uid 1000)",
	 0, 0},
	{"limit", 0, CLI_OPTION_SIZE, offsetof(struct cp_values, limit), "SIZE", COPY_LIMIT_HELP, 0,
	 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

/* Sets the error for a wrong pair of paths. If a word looks like a path in a workspace that is not
 * absolute, such as "box:notes", the error names that word. */
static int refuse_paths(struct cli *cli, const struct cli_words *args, struct error *err)
{
	for (size_t i = 0; i < args->count; i++) {
		const char *colon = strchr(args->items[i], ':');

		if (colon && colon != args->items[i] && colon[1] != '/' &&
		    !memchr(args->items[i], '/', (size_t)(colon - args->items[i])))
			return cli_usage(
				cli, err,
				"%s: the path in the workspace must be absolute: write NAME:/PATH",
				args->items[i]);
	}
	return cli_usage(
		cli, err,
		"exactly one of the source and the target must be in a workspace: write it as NAME:/PATH");
}

static int run_cp(struct cli *cli, const void *values, const struct cli_words *args,
		  struct error *err)
{
	const struct cp_values *v = values;
	autoprogress struct progress progress = PROGRESS_INIT;
	char from[64], to[64];
	const char *from_path = NULL, *to_path = NULL;
	bool out = guest_path_parse(args->items[0], from, &from_path);
	bool in = guest_path_parse(args->items[1], to, &to_path);
	char id[GUEST_ID_ROOM];
	struct copy_notes notes;
	struct microagent *agent;
	int status;

	if (out && in)
		return cli_usage(
			cli, err,
			"a copy from one workspace to another takes two steps: `microagent cp %s DIR`, then `microagent cp DIR/... %s`",
			args->items[0], args->items[1]);
	if (!out && !in)
		return refuse_paths(cli, args, err);
	if (guest_check_name(cli, out ? from : to, err) < 0 ||
	    guest_check_path(cli, out ? from_path : to_path, err) < 0 ||
	    copy_refuse_dash(cli, args->items[out ? 1 : 0], err) < 0 ||
	    copy_notes_init(&notes, cli, &progress, err) < 0)
		return -1;
	const struct microagent_copy options = copy_options(&notes, v->user, v->limit);

	agent = guest_open_at(cli, &progress, out ? from : to, id, err);
	if (!agent)
		return copy_answer(&notes, -1, err);
	progress_start(&progress, "copying");
	status = out ? microagent_copy_out(agent, id, from_path, args->items[1], &options, err)
		     : microagent_copy_in(agent, id, args->items[0], to_path, &options, err);
	microagent_close(agent);
	progress_end(&progress);
	if (status < 0) {
		const struct copy_target target = {.workspace = in ? to : NULL,
						   .from = out ? from : NULL,
						   .path = in ? to_path : args->items[1],
						   .source = args->items[0]};

		copy_name_target(&target, err);
	}
	return copy_answer(&notes, status, err);
}

const struct cli_command cli_cp = {
	.name = "cp",
	.args = "NAME:/PATH TARGET | SOURCE NAME:/PATH",
	.summary = "copy a file or a directory out of a workspace, or into it",
	.help = "If the target is a directory, the copy is put into it under its own name. A file is\n"
		"replaced when the copy is whole. A symbolic link is not followed to write. A workspace\n"
		"that is not running is read by a machine that runs nothing of it. Devices, and links\n"
		"that lead out of what is copied, are left out.\n",
	.group = CLI_GROUP_RUN,
	.options = cp_options,
	.values_size = sizeof(struct cp_values),
	.min_args = 2,
	.max_args = 2,
	.run = run_cp,
};
