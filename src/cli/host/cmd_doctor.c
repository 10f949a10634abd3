/* SPDX-License-Identifier: MIT */
/* doctor: shows what this host can do, and how to repair what it cannot do. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/host/doctor.h"
#include "cli/options/guest.h"
#include "cli/output/hint.h"

/* Prints a verdict. If stdout can show colours, "ok" is green, "failed" is red, and any other
 * verdict is yellow. */
static void print_verdict(const char *verdict, int width)
{
	const char *colour = strcmp(verdict, "ok") == 0	      ? "\033[32m"
			     : strcmp(verdict, "failed") == 0 ? "\033[31m"
							      : "\033[33m";
	bool coloured = cli_colour(stdout);

	printf("%s%-*s%s", coloured ? colour : "", width, verdict, coloured ? "\033[0m" : "");
}

/* Adds a remedy to a check. If a command of this program repairs the problem, the library gives
 * only a reason. The hint for this reason then names the command. */
static int add_remedy(json_t *check, struct error *err)
{
	enum error_reason reason = error_reason_from_name(json_text(check, "reason", ""));
	const char *remedy;
	char hint[HINT_ROOM];

	if (reason == REASON_NONE || *json_text(check, "remedy", ""))
		return 0;
	hint_find(NULL, reason, "", hint);
	remedy = hint_command(hint);
	return remedy ? json_put_string(check, "remedy", remedy, err) : 0;
}

static void print_check(const json_t *check)
{
	const char *remedy = json_text(check, "remedy", "");

	print_verdict(json_text(check, "status", ""), 8);
	printf("  %-15s  ", json_text(check, "name", ""));
	cli_print_safe(stdout, json_text(check, "detail", ""));
	putchar('\n');
	if (*remedy) {
		printf("%27sfix: ", "");
		cli_print_safe(stdout, remedy);
		putchar('\n');
	}
}

int doctor_print(const struct cli *cli, const json_t *answer, bool all, struct error *err)
{
	json_t *check;
	size_t i;

	json_array_foreach(json_object_get(answer, "checks"), i, check)
	{
		if (add_remedy(check, err) < 0)
			return -1;
		if (!cli->json && (all || strcmp(json_text(check, "status", ""), "ok") != 0))
			print_check(check);
	}
	if (cli->json)
		return cli_print_json(answer, err);
	fputs(all ? "\nverdict: " : "verdict: ", stdout);
	print_verdict(json_text(answer, "verdict", ""), 0);
	putchar('\n');
	return 0;
}

struct doctor_values {
	const char *backend;
};

static int run_doctor(struct cli *cli, const void *values, const struct cli_words *args,
		      struct error *err)
{
	const struct doctor_values *v = values;
	json_auto_t *answer = NULL;

	(void)args;
	if (guest_take_backend(cli, v->backend, err) < 0)
		return -1;
	answer = guest_ask(cli, "looking at this host", microagent_doctor, err);
	if (!answer || doctor_print(cli, answer, true, err) < 0)
		return -1;
	return json_is_true(json_object_get(answer, "ok")) ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

static const struct cli_option doctor_options[] = {
	GUEST_BACKEND(struct doctor_values),
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

const struct cli_command cli_doctor = {
	.name = "doctor",
	.summary = "what this host can do, and the command that fixes what it cannot",
	.help = "Each check is ok, degraded (machines run, but slower or with a weaker boundary) or\n"
		"failed (no machine runs). The worst one is the verdict; exit code 1 for failed.\n",
	.group = CLI_GROUP_HOST,
	.options = doctor_options,
	.values_size = sizeof(struct doctor_values),
	.run = run_doctor,
};
