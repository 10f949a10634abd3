/* SPDX-License-Identifier: MIT */
/* base warm: makes a template of a base. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/session/base.h"

int base_warm_in(struct microagent *agent, const char *name, const struct cli_words *lines,
		 struct microagent_warm_spec *spec, json_t **base, struct error *err)
{
	autofree const char *(*words)[4] = calloc(lines->count + 1, sizeof(*words));
	autofree const char *const **run = calloc(lines->count + 1, sizeof(*run));

	if (!words || !run)
		return error_errno(err, ENOMEM, "base");
	for (size_t i = 0; i < lines->count; i++) {
		words[i][0] = "sh";
		words[i][1] = "-c";
		words[i][2] = lines->items[i];
		run[i] = words[i];
	}
	spec->run = run;
	return microagent_base_warm(agent, name, spec, base, err);
}

static int print_warm(const struct cli *cli, const json_t *base, struct error *err)
{
	const json_t *template = json_object_get(base, "template");

	if (cli->json)
		return cli_print_json(base, err);
	printf("%s: warm; %" PRIdMAX " MiB of memory and %" PRIdMAX " MiB of disk\n",
	       json_text(base, "name", NULL),
	       (intmax_t)json_integer_value(json_object_get(template, "residentBytes")) >> 20,
	       (intmax_t)json_integer_value(json_object_get(template, "bytes")) >> 20);
	return CLI_EXIT_OK;
}

static int run_base_warm(struct cli *cli, const void *values, const struct cli_words *args,
			 struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct base_values *v = values;
	struct creating creating = {cli, &progress};
	struct signals signals = SIGNALS_NONE;
	json_auto_t *base = NULL;
	struct microagent *agent;
	int code;

	agent = guest_open(cli, &progress, err);
	if (!agent || signals_open_ending(&signals, err) < 0) {
		microagent_close(agent);
		return -1;
	}
	struct microagent_warm_spec spec = {
		.machine = machine_asked(&v->machine),
		.cancel = signals.fd,
		.booted = base_on_booted,
		.said = base_on_line,
		.data = &creating,
	};

	if (v->machine.unconfined)
		guest_unconfined(cli, agent);
	progress_start(&progress, "looking at the base");
	code = base_warm_in(agent, args->items[0], &v->run, &spec, &base, err);
	microagent_close(agent);
	progress_end(&progress);
	if (code == 0)
		code = print_warm(cli, base, err);
	return signals_end_command(cli, &signals, code, err);
}

static const struct cli_option warm_options[] = {
	{"run", 0, CLI_OPTION_LIST, offsetof(struct base_values, run), "LINE",
	 "a line for the guest's shell, run before the machine is saved; may be given again", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

const struct cli_command base_warm = {
	.name = "warm",
	.args = "BASE",
	.summary = "save a booted machine of a base, for its sessions to begin from",
	.help = "A machine of the base is booted, the base's user runs each LINE in it, and its memory and\n"
		"devices are saved. `session create` then restores that machine instead of booting one, if\n"
		"memory and processors are the base's and no option asks for what the saved machine does\n"
		"not have; --cold boots one. `base show` shows the template, `base cool` removes it.\n",
	.options = warm_options,
	.machine = MACHINE_OPTIONS_OF_WARM,
	.values_size = sizeof(struct base_values),
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_warm,
};
