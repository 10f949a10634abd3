/* SPDX-License-Identifier: MIT */
/* audit: shows what sessions did, and verifies that the audit logs were not changed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/workspace/each.h"
#include "microagent_session.h"

/* The length of the longest name of an event, in bytes. */
#define EVENT_WIDTH 20

/* --- show ------------------------------------------------------------------------------------ */

/* Returns true if the text can be printed without quotes: no part of it looks like the end of the
 * value or like another field. */
static bool is_plain(const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || text[0] == ' ' || text[len - 1] == ' ')
		return false;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == '"' || *c == '\\' ||
		    (*c == ' ' && c[1] == ' '))
			return false;
	return true;
}

/* Prints `text`, and blanks until `width` columns are filled. Replaces control bytes, since a
 * program that can write the log can write any bytes into it. */
static void print_padded(const char *text, int width)
{
	cli_print_safe(stdout, text);
	printf("%*s", (int)strlen(text) < width ? width - (int)strlen(text) : 0, "");
}

static void print_log_line(const json_t *line)
{
	int width = json_object_size(json_object_get(line, "data"))
			    ? EVENT_WIDTH
			    : 0; /* the last column of a line has no blanks after it */
	const char *key, *severity = json_text(line, "severity", "?");
	bool alarm = strcmp(severity, "CRITICAL") == 0;
	json_t *value;

	cli_print_safe(stdout, json_text(line, "ts", "?"));
	printf("  ");
	/* The severity fills eight columns, with or without a colour. */
	if ((alarm || strcmp(severity, "WARNING") == 0) && cli_colour(stdout))
		printf("\033[%dm%s\033[0m%*s", alarm ? 31 : 33, severity, 8 - (int)strlen(severity),
		       "");
	else
		print_padded(severity, 8);
	printf("  ");
	print_padded(json_text(line, "event", "?"), width);
	json_object_foreach(json_object_get(line, "data"), key, value)
	{
		fputs("  ", stdout);
		cli_print_safe(stdout, key);
		putchar('=');
		/* Prints a plain text without quotes, and any other value as JSON. */
		if (json_is_string(value) && is_plain(json_string_value(value))) {
			cli_print_safe(stdout, json_string_value(value));
		} else {
			autofree char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

			cli_print_safe(stdout, text ? text : "?");
		}
	}
	putchar('\n');
}

static void print_damaged(const char *line, size_t len)
{
	json_auto_t *text = NULL;

	if (len > 0 && line[len - 1] == '\n')
		len--;
	text = json_string_lossy(line, len < 200 ? len : 200);
	printf("%-24s  %-8s  %-*s  ", "-", "-", EVENT_WIDTH, "not a line of a log");
	cli_print_safe(stdout, text ? json_string_value(text) : "");
	putchar('\n');
}

static int show_log_line(void *data, const char *line, size_t len, struct error *err)
{
	const struct cli *cli = data;
	json_auto_t *object = cli->json ? NULL : json_load_strict(line, len, NULL);

	(void)err;
	if (cli->json)
		fwrite(line, 1, len, stdout);
	else if (json_is_object(object))
		print_log_line(object);
	else
		print_damaged(line, len);
	return 0;
}

static int run_audit_show(struct cli *cli, const void *values, const struct cli_words *args,
			  struct error *err)
{
	struct microagent *agent = guest_open(cli, NULL, err);
	int status;

	(void)values;
	if (!agent)
		return -1;
	status = microagent_audit_read(agent, args->items[0], show_log_line, cli, err);
	microagent_close(agent);
	return status < 0 ? -1 : CLI_EXIT_OK;
}

/* --- verify ---------------------------------------------------------------------------------- */

static json_int_t log_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void print_telemetry(const json_t *telemetry)
{
	const char *verdict = json_text(telemetry, "verdict", "?");
	long long bytes = log_number(telemetry, "bytes");
	long long confirmed = log_number(telemetry, "confirmedBytes");

	if (strcmp(verdict, "altered") == 0 && !json_object_get(telemetry, "line"))
		printf("telemetry.jsonl is altered: it is not a regular file, or it has more bytes (%lld) than microagent writes\n",
		       bytes);
	else if (strcmp(verdict, "altered") == 0 || strcmp(verdict, "missing") == 0)
		printf("telemetry.jsonl is %s: it does not have the digest that line %lld of the log has for it\n",
		       verdict, (long long)log_number(telemetry, "line"));
	else if (bytes > confirmed)
		printf("telemetry.jsonl is whole up to the last digest of it in the log; %lld bytes come after that\n",
		       bytes - confirmed);
	else if (bytes > 0)
		printf("telemetry.jsonl is whole\n");
}

static void print_passed_over(const json_t *passed_over)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(passed_over, i, entry)
	{
		cli_print_safe(stdout, json_text(entry, "path", "?"));
		printf(" has the name of a security log, but was not read: %s: move it to another place, or make it readable\n",
		       json_text(entry, "why", "?"));
	}
}

static void print_log_verdict(const json_t *answer)
{
	const char *verdict = json_text(answer, "verdict", "?");

	printf("%s: %s", json_text(answer, "session", "?"), verdict);
	if (json_object_get(answer, "badLine"))
		printf(": line %lld", (long long)log_number(answer, "badLine"));
	if (json_object_get(answer, "why")) {
		printf(": ");
		cli_print_safe(stdout, json_text(answer, "why", "?"));
	}
	printf("; %lld lines are whole, %lld of them confirmed by the security log\n",
	       (long long)log_number(answer, "lines"), (long long)log_number(answer, "confirmed"));
	if (log_number(answer, "unconfirmedLine") > 0)
		printf("line %lld is the first without a digest in the security log: the security log was cut short, moved or removed, or could not be written\n",
		       (long long)log_number(answer, "unconfirmedLine"));
	if (log_number(answer, "lost") > 0)
		printf("%lld events were not recorded, as the log or the security log says\n",
		       (long long)log_number(answer, "lost"));
	if (log_number(answer, "clockSetBack") > 0)
		printf("the host's clock was set back %lld times\n",
		       (long long)log_number(answer, "clockSetBack"));
	print_telemetry(json_object_get(answer, "telemetry"));
	print_passed_over(json_object_get(answer, "passedOver"));
}

struct verify_values {
	bool all;
};

/* Verifies one log and prints the result. Returns the library's answer; NULL if the log could not
 * be read. */
static json_t *verify_one_log(const struct cli *cli, struct microagent *agent, const char *name,
			      struct error *err)
{
	json_t *answer = microagent_audit_verify(agent, name, err);

	if (answer && !cli->json)
		print_log_verdict(answer);
	return answer;
}

/* Verifies each log. If one log cannot be read, goes on with the next one. */
static int verify_each(const struct cli *cli, struct microagent *agent, const json_t *audits,
		       json_t *responses, bool *ok, struct error *err)
{
	const json_t *audit;
	size_t i;

	json_array_foreach(audits, i, audit)
	{
		const char *name = json_text(audit, "session", NULL);
		struct error why = {0};
		json_t *answer = verify_one_log(cli, agent, name, &why);

		*ok = *ok && answer && json_is_true(json_object_get(answer, "ok"));
		if (!answer && !cli->json)
			cli_warn_error(cli, "", &why);
		if (!answer)
			answer = each_failure(cli, name, &why, err);
		if (!answer || json_array_append_new(responses, answer) < 0)
			return answer ? error_errno(err, ENOMEM, "audit") : -1;
	}
	return 0;
}

static int verify_all(struct cli *cli, struct microagent *agent, struct error *err)
{
	json_auto_t *list = microagent_audit_list(agent, err), *responses = json_array();
	json_auto_t *answer = NULL;
	bool ok = true;

	if (!list ||
	    verify_each(cli, agent, json_object_get(list, "audits"), responses, &ok, err) < 0)
		return -1;
	answer = json_pack("{s:b, s:O}", "ok", ok, "responses", responses);
	if (cli->json && cli_print_json(answer, err) < 0)
		return -1;
	return ok ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

static int run_audit_verify(struct cli *cli, const void *values, const struct cli_words *args,
			    struct error *err)
{
	const struct verify_values *v = values;
	json_auto_t *answer = NULL;
	struct microagent *agent;
	int code = -1;

	if (v->all == (args->count > 0))
		return cli_usage(
			cli, err,
			"NAME or --all is missing: give one of them to choose the logs to verify");
	agent = guest_open(cli, NULL, err);
	if (!agent)
		return -1;
	if (v->all) {
		code = verify_all(cli, agent, err);
	} else {
		answer = verify_one_log(cli, agent, args->items[0], err);
		if (answer && (!cli->json || cli_print_json(answer, err) == 0))
			code = json_is_true(json_object_get(answer, "ok")) ? CLI_EXIT_OK
									   : CLI_EXIT_FAILED;
	}
	microagent_close(agent);
	return code;
}

/* --- list ------------------------------------------------------------------------------------ */

static int print_logs(const json_t *audits, struct error *err)
{
	static const char *const heads[] = {"SESSION", "WHERE", "BYTES", "PATH"};
	auto_table struct cli_table table = {0};
	const json_t *audit;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(audits, i, audit)
	{
		char bytes[24];
		const char *const cells[] = {json_text(audit, "session", "?"),
					     json_text(audit, "where", "?"), bytes,
					     json_text(audit, "path", "?")};

		snprintf(bytes, sizeof(bytes), "%lld", (long long)log_number(audit, "bytes"));
		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	if (json_array_size(audits) == 0)
		cli_warn(
			"there is no audit log: each session has one, from `microagent session create` on");
	return CLI_EXIT_OK;
}

static int run_audit_list(struct cli *cli, const void *values, const struct cli_words *args,
			  struct error *err)
{
	const struct guest_list list = {microagent_audit_list, "audits", print_logs};

	(void)values;
	(void)args;
	return guest_print_list(cli, &list, err);
}

static const struct cli_command audit_show = {
	.name = "show",
	.args = "SESSION",
	.summary = "what happened in a session; with --json the log's own lines",
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_audit_check_name,
	.run = run_audit_show,
};

static const struct cli_option verify_options[] = {
	{"all", 0, CLI_OPTION_FLAG, offsetof(struct verify_values, all), NULL,
	 "all logs that `audit list` shows", 0, 0},
	{0},
};

static const struct cli_command audit_verify_command = {
	.name = "verify",
	.args = "[SESSION]",
	.summary = "whether a session's log is whole and unaltered",
	.options = verify_options,
	.values_size = sizeof(struct verify_values),
	.max_args = 1,
	.check_name = microagent_audit_check_name,
	.run = run_audit_verify,
};

static const struct cli_command audit_list = {
	.name = "list",
	.summary = "list the logs, those of destroyed sessions too",
	.run = run_audit_list,
};

static const struct cli_command *const audit_commands[] = {
	&audit_show, &audit_verify_command, &audit_list, &cli_audit_telemetry, NULL,
};

const struct cli_command cli_audit = {
	.name = "audit",
	.args = "COMMAND",
	.summary = "what sessions did, from logs that cannot be altered unnoticed",
	.group = CLI_GROUP_OBSERVE,
	.sub = audit_commands,
};
