/* SPDX-License-Identifier: MIT */
/* result: shows the result of a workspace's command. */
#include <inttypes.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/print_safe.h"
#include "cli/options/guest.h"

static int add_result_row(struct cli_table *table, const char *name, const char *value,
			  struct error *err)
{
	const char *const cells[] = {name, value};

	return value ? cli_table_row(table, cells, err) : 0;
}

/* Prints a stream of the result. A file or a pipe gets the text unchanged. For a terminal, control
 * bytes are replaced. */
static void print_stream(const json_t *result, const char *key)
{
	const json_t *value = json_object_get(result, key);
	const char *at = json_string_value(value);
	size_t len = json_string_length(value);
	struct utf8_reader reader = {0};

	if (len == 0)
		return;
	printf("--- %s\n", key);
	if (isatty(STDOUT_FILENO) == 1)
		(void)print_safe_lines(&reader, stdout, at, len, true);
	else
		fwrite(at, 1, len, stdout);
	if (at[len - 1] != '\n')
		putchar('\n');
}

static int print_result(const char *name, const json_t *result, struct error *err)
{
	const char *const heading[] = {"workspace", name};
	auto_table struct cli_table table = {0};
	char code[24];

	snprintf(code, sizeof(code), "%" PRIdMAX,
		 (intmax_t)json_integer_value(json_object_get(result, "exitCode")));
	if (cli_table_init(&table, ARRAY_SIZE(heading), heading, err) < 0 ||
	    add_result_row(&table, "exit code", code, err) < 0 ||
	    add_result_row(&table, "error", json_text(result, "error", NULL), err) < 0 ||
	    add_result_row(&table, "started", json_text(result, "startedAt", NULL), err) < 0 ||
	    add_result_row(&table, "completed", json_text(result, "completedAt", NULL), err) < 0 ||
	    add_result_row(&table, "file", json_text(result, "resultPath", NULL), err) < 0)
		return -1;
	cli_table_print(&table, stdout);
	print_stream(result, "stdout");
	print_stream(result, "stderr");
	return CLI_EXIT_OK;
}

static int run_result(struct cli *cli, const void *values, const struct cli_words *args,
		      struct error *err)
{
	const char *name = args->items[0];
	json_auto_t *response = NULL;
	const json_t *result;
	struct microagent *agent;
	char id[GUEST_ID_ROOM];
	int status;

	(void)values;
	if (guest_check_name(cli, name, err) < 0)
		return -1;
	agent = guest_open_at(cli, NULL, name, id, err);
	if (!agent)
		return -1;
	status = microagent_status(agent, id, &response, err);
	microagent_close(agent);
	if (status < 0)
		return -1;
	result = json_object_get(response, "result");
	if (!result)
		return error_set(
			err, ERR_NOT_FOUND,
			"workspace \"%s\" has no result: its command has not ended, or it has no command: `microagent status %s` says more",
			name, name);
	return cli->json ? cli_print_json(response, err) : print_result(name, result, err);
}

const struct cli_command cli_result = {
	.name = "result",
	.args = "NAME",
	.summary = "exit code and output of a workspace's own command",
	.help = "It is the result of the command that the workspace was created with, once that has\n"
		"ended. With --json: the supervisor's answer to `inspect`, with the field `result`.\n",
	.group = CLI_GROUP_OBSERVE,
	.min_args = 1,
	.max_args = 1,
	.run = run_result,
};
