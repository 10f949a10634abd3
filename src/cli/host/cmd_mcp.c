/* SPDX-License-Identifier: MIT */
/* mcp: speaks the Model Context Protocol on stdin and stdout. */
#include <errno.h>
#include <string.h>

#include "base/architecture.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/options/guest.h"
#include "cli/terminal/signals.h"
#include "mcp/mcp.h"
#include "microagent_session.h"
#include "store/cache.h"

struct mcp_values {
	const char *backend, *network, *files;
	struct cli_words tools, base, image, session, allow;
	struct guest_egress egress;
	int64_t max_sessions, result_bytes, memory, cpus;
	bool files_anyway, keep;
};

#define OPTION(field) offsetof(struct mcp_values, field)

static const struct cli_option mcp_command_options[] = {
	{"tools", 0, CLI_OPTION_LIST, OPTION(tools), "TOOL[,TOOL...]",
	 "tools that are offered, like run,exec (default: all that the other options allow)", 0, 0},
	{"base", 0, CLI_OPTION_LIST, OPTION(base), "BASE",
	 "a base for sessions; the first is the default; may be given again", 0, 0},
	{"image", 0, CLI_OPTION_LIST, OPTION(image), "IMAGE",
	 "an image that `run` may use; the first is the default; may be given again", 0, 0},
	{"session", 0, CLI_OPTION_LIST, OPTION(session), "SESSION",
	 "an existing session that may be used and destroyed; may be given again", 0, 0},
	GUEST_BACKEND(struct mcp_values),
	{"network", 0, CLI_OPTION_STRING, OPTION(network), "isolated|nat",
	 "the most that a machine may reach (default: isolated)", 0, 0},
	{"allow", 0, CLI_OPTION_LIST, OPTION(allow), "PREFIX",
	 "let nat reach these addresses too, like 192.168.1.0/24; may be given again", 0, 0},
	GUEST_EGRESS(struct mcp_values),
	{"files", 0, CLI_OPTION_STRING, OPTION(files), "DIR",
	 "the only directory of this host to copy from and to (default: none)", 0, 0},
	{"files-anyway", 0, CLI_OPTION_FLAG, OPTION(files_anyway), NULL,
	 "even if DIR is a store of keys or the home directory", 0, 0},
	{"memory", 0, CLI_OPTION_INT, OPTION(memory), "MIB",
	 "memory of `run`, and the most that a session may ask for", 64, INT32_MAX},
	{"cpus", 0, CLI_OPTION_INT, OPTION(cpus), "N",
	 "processors of `run`, and the most that a session may ask for", 1, INT32_MAX},
	{"max-sessions", 0, CLI_OPTION_INT, OPTION(max_sessions), "N",
	 "machines at once (default: 4)", 1, 1000},
	{"result-bytes", 0, CLI_OPTION_INT, OPTION(result_bytes), "BYTES",
	 "the most of each stream in an answer; the rest can be read later (default: 25600)", 1024,
	 1048576},
	{"keep", 0, CLI_OPTION_FLAG, OPTION(keep), NULL,
	 "keep the sessions that it made when it ends", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void warn_of_mcp(const char *text)
{
	cli_warn("%s", text);
}

/* Splits lists of tools at the commas, so that "--tools run,exec" means "--tools run --tools exec".
 * The entries of *words point into *text. The caller frees *words and *text. */
static int split_tools(struct cli *cli, const struct cli_words *given, char **text,
		       const char ***words, struct error *err)
{
	autobuf struct buf all = BUF_INIT(0);
	struct error why = {0};
	size_t count = 0;
	char *at;

	for (size_t i = 0; i < given->count; i++)
		if (buf_printf(&all, err, "%s,", given->items[i]) < 0)
			return -1;
	*words = calloc(all.len / 2 + 2, sizeof(**words));
	*text = buf_steal_string(&all, err);
	if (!*text || !*words)
		return error_errno(err, ENOMEM, "--tools");
	for (char *word = strtok_r(*text, ",", &at); word; word = strtok_r(NULL, ",", &at)) {
		if (mcp_check_tool(word, &why) < 0)
			return cli_usage(cli, err, "--tools: %s", why.msg);
		(*words)[count++] = word;
	}
	return count ? 0 : cli_usage(cli, err, "--tools names no tool: give at least one");
}

/* Checks the images when the program starts. An unknown image is a mistake of the user who starts
 * the program. So that user must see the error, and not the model. */
static int check_images(const struct cli_words *images, struct error *err)
{
	for (size_t i = 0; i < images->count; i++) {
		struct cache_image image = {0};

		if (cache_image_find(images->items[i], architecture_of_host(), &image, err) < 0)
			return error_prefix(err, "--image");
		cache_image_free(&image);
	}
	return 0;
}

static int check_mcp(struct cli *cli, const struct mcp_values *v, struct error *err)
{
	bool is_nat = v->network && strcmp(v->network, "nat") == 0;

	if (v->allow.count && !is_nat)
		return cli_usage(cli, err,
				 "--allow needs --network nat: give both, or leave --allow out");
	if ((v->egress.names.count || v->egress.from.count || v->egress.dry_run) && !is_nat)
		return cli_usage(cli, err,
				 "--egress needs --network nat: give both, or leave --egress out");
	if (v->files_anyway && !v->files)
		return cli_usage(
			cli, err,
			"--files-anyway needs --files: give both, or leave --files-anyway out");
	for (size_t i = 0; i < v->base.count; i++)
		if (guest_check_base(cli, v->base.items[i], err) < 0)
			return -1;
	guest_warn_allow(cli, v->network, &v->allow);
	if (v->files_anyway)
		cli_warn("--files-anyway: the model can read all keys below %s", v->files);
	if (guest_check_egress(cli, &v->egress, err) < 0)
		return -1;
	return guest_take_backend(cli, v->backend, err);
}

static int serve_mcp(const struct cli *cli, const struct mcp_values *v, const char *const *tools,
		     struct error *err)
{
	const struct mcp_options options = {
		.state_dir = cli->state_dir_option,
		.backend = v->backend,
		.tools = tools,
		.bases = v->base.items,
		.images = v->image.items,
		.sessions = v->session.items,
		.network = v->network,
		.allow = v->allow.items,
		.egress = guest_egress(&v->egress),
		.files = v->files,
		.files_anyway = v->files_anyway,
		.max_machines = v->max_sessions ? v->max_sessions : 4,
		.result_bytes = v->result_bytes ? v->result_bytes : 25600,
		.memory_mib = v->memory,
		.cpus = v->cpus,
		.keep = v->keep,
		.warn = warn_of_mcp,
	};
	struct signals signals = SIGNALS_NONE;
	int status;

	if (signals_open_ending(&signals, err) < 0)
		return -1;
	status = mcp_serve(&options, STDIN_FILENO, STDOUT_FILENO, signals.fd, err);
	signals_close(&signals);
	return status < 0 ? -1 : CLI_EXIT_OK;
}

static int run_mcp(struct cli *cli, const void *values, const struct cli_words *args,
		   struct error *err)
{
	const struct mcp_values *v = values;
	autofree char *text = NULL;
	autofree const char **tools = NULL;

	(void)args;
	if (check_mcp(cli, v, err) < 0)
		return -1;
	if (cli->stdout_closed)
		return error_set(
			err, ERR_INVALID,
			"stdout is closed, so no answer could be written: start the server with an open stdout");
	if (v->tools.count && split_tools(cli, &v->tools, &text, &tools, err) < 0)
		return -1;
	if (check_images(&v->image, err) < 0)
		return -1;
	return serve_mcp(cli, v, v->tools.count ? tools : NULL, err);
}

const struct cli_command cli_mcp = {
	.name = "mcp",
	.summary = "machines for a model's client, by the Model Context Protocol",
	.help = "The options say what a model may do; it cannot ask for more. Without --base and\n"
		"--session only `run` is offered. What it made is destroyed when stdin ends.\n",
	.group = CLI_GROUP_RUN,
	.options = mcp_command_options,
	.values_size = sizeof(struct mcp_values),
	.run = run_mcp,
};
