/* SPDX-License-Identifier: MIT */
/* audit telemetry: shows what the guest's kernel has recorded of the programs in a session. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "microagent_session.h"

/* Prints the words of a command with blanks between them. A word with special characters is printed
 * as JSON. */
static void print_argv(const json_t *argv)
{
	const json_t *word;
	size_t i;

	json_array_foreach(argv, i, word)
	{
		const char *text = json_string_value(word);
		bool plain = text && *text &&
			     !strpbrk(text, " \t\r\n"
					    "\"'\\$`*?()<>|&;");
		autofree char *quoted = plain ? NULL : json_dumps(word, JSON_ENCODE_ANY);

		if (i > 0)
			putchar(' ');
		cli_print_safe(stdout, plain ? text : quoted ? quoted : "?");
	}
}

static void print_what(const char *kind, const json_t *record)
{
	json_int_t errnum = json_integer_value(json_object_get(record, "errno"));

	if (strcmp(kind, "exec") == 0) {
		print_argv(json_object_get(record, "argv"));
	} else if (strcmp(kind, "connect") == 0) {
		cli_print_safe(stdout, json_text(record, "address", "?"));
		printf(" port %lld",
		       (long long)json_integer_value(json_object_get(record, "port")));
	} else {
		cli_print_safe(stdout, json_text(record, "path", "?"));
	}
	if (strcmp(kind, "write") == 0)
		printf(" (%lld bytes)",
		       (long long)json_integer_value(json_object_get(record, "bytes")));
	if (errnum > 0 && errnum < 4096)
		printf(" (%s)", strerror((int)errnum));
	if (json_is_true(json_object_get(record, "truncated")))
		printf(" (cut)");
	putchar('\n');
}

static int show_telemetry_line(void *data, const char *line, size_t len, struct error *err)
{
	const struct cli *cli = data;
	json_auto_t *object = json_load_strict(line, len, NULL);
	const json_t *record = json_object_get(object, "record");
	const char *kind = json_text(record, "kind", "?");

	(void)err;
	if (cli->json) {
		fwrite(line, 1, len, stdout);
	} else if (record) {
		cli_print_safe(stdout, json_text(record, "at", "?"));
		printf("  %6lld  ", (long long)json_integer_value(json_object_get(record, "pid")));
		cli_print_safe(stdout, kind);
		printf("%*s", strlen(kind) < 8 ? 8 - (int)strlen(kind) : 1, "");
		print_what(kind, record);
	}
	return 0;
}

static int run_telemetry(struct cli *cli, const void *values, const struct cli_words *args,
			 struct error *err)
{
	struct microagent *agent = guest_open(cli, NULL, err);
	int status;

	(void)values;
	if (!agent)
		return -1;
	status = microagent_audit_telemetry(agent, args->items[0], show_telemetry_line, cli, err);
	microagent_close(agent);
	return status < 0 ? -1 : CLI_EXIT_OK;
}

const struct cli_command cli_audit_telemetry = {
	.name = "telemetry",
	.args = "SESSION",
	.summary = "what ran in a session: programs, files, connections",
	.help = "The guest says this, with the guest's times. Do not trust it: who is root in the guest can\n"
		"flood it with events, or change its kernel.\n",
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_audit_check_name,
	.run = run_telemetry,
};
