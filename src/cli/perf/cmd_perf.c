/* SPDX-License-Identifier: MIT */
/* perf: what this host does, and where each millisecond and each MiB of a machine goes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/options/guest.h"
#include "cli/perf/perf.h"

struct perf_values {
	const char *base, *backend, *network, *picture;
	int64_t count;
};

struct measure {
	const char *name, *of, *doing;
	int64_t count; /* unless another is asked for */
	perf_measure_fn *run;
};

static const struct measure measures[] = {
	{"boot", "start of a session", "booting sessions", 5, perf_boot},
	{"restore", "restore of a session", "restoring sessions", 10, perf_restore},
	{"exec", "exec in a session", "running commands", 100, perf_exec},
	{"claim", "claim of a session", "claiming sessions", 5, perf_claim},
	{"footprint", "session", "looking at sessions", 3, perf_footprint},
};

/* Of the command that runs: its words are "perf NAME". */
static const struct measure *measure_of(const struct cli *cli)
{
	for (size_t i = 0; i < ARRAY_SIZE(measures); i++)
		if (strcmp(cli->command->name, measures[i].name) == 0)
			return &measures[i];
	return NULL;
}

/* That the picture cannot be written is better known before minutes are spent on it. */
static int check_picture(const char *path, struct error *err)
{
	autofree char *dir = NULL;
	char *slash;

	if (!path)
		return 0;
	dir = strdup(path);
	slash = dir ? strrchr(dir, '/') : NULL;
	if (slash)
		slash[slash == dir] = '\0';
	if (access(slash ? dir : ".", W_OK) < 0)
		return error_errno(err, errno, "cannot write %s", path);
	return 0;
}

/* Each row has as many samples as are told of, or it would be another figure than it says. */
static int check_counts(const struct perf_report *report, struct error *err)
{
	for (size_t i = 0; i < report->row_count; i++)
		if ((int64_t)report->rows[i].samples.count != report->count)
			return error_set(err, ERR_INTERNAL, "%s was measured %zu times of %" PRId64,
					 report->rows[i].name, report->rows[i].samples.count,
					 report->count);
	return 0;
}

/* By a signal, once all is removed: that is our end too. */
static int measure_ended_by(const struct cli *cli, struct signals *signals, const struct error *err)
{
	cli_warn_error(cli, "nothing was measured: ", err);
	return 128 + signals_that_came(signals);
}

static int measure_in(const struct cli *cli, struct perf_place *place,
		      const struct measure *measure, const struct perf_values *v,
		      struct perf_report *report, struct error *err)
{
	place->network = v->network;
	if (perf_place_open(place, cli, v->base, err) < 0)
		return -1;
	snprintf(report->base, sizeof(report->base), "%s", place->base);
	if (measure->run(place, report, err) < 0)
		return -1;
	return check_counts(report, err);
}

/* The place is gone when this returns; *signalled: the exit code that a signal makes. */
static int measure_all(const struct cli *cli, const struct measure *measure,
		       const struct perf_values *v, struct perf_report *report, int *signalled,
		       struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	struct perf_place place = PERF_PLACE_NONE;
	struct error why = {0};
	int status;

	progress_start(&progress, measure->doing);
	place.progress = &progress;
	status = measure_in(cli, &place, measure, v, report, err);
	progress_end(&progress);
	if (status < 0 && (place.signals.last || signals_next(&place.signals) > 0))
		*signalled = measure_ended_by(cli, &place.signals, err);
	if (perf_place_close(&place, &why) < 0) {
		cli_warn_error(cli, "", &why);
		if (status == 0)
			status = error_copy(err, &why);
	}
	return status;
}

static int run_perf(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	const struct measure *measure = measure_of(cli);
	const struct perf_values *v = values;
	struct perf_report report = {0};
	int status, signalled = 0;

	(void)args;
	if (guest_check_base(cli, v->base, err) < 0 ||
	    guest_take_backend(cli, v->backend, err) < 0 || check_picture(v->picture, err) < 0)
		return -1;
	report.measure = measure->name;
	report.of = measure->of;
	report.count = v->count ? v->count : measure->count;
	status = measure_all(cli, measure, v, &report, &signalled, err);
	if (status == 0 && v->picture)
		status = perf_draw(&report, v->picture, err);
	if (status == 0)
		status = perf_print(cli, &report, v->picture, err);
	perf_report_free(&report);
	return signalled ? signalled : status;
}

#define OPTION(field) offsetof(struct perf_values, field)

static const struct cli_option perf_options[] = {
	{"base", 0, CLI_OPTION_STRING, OPTION(base), "BASE",
	 "sessions of this base (default: of one that is made of the busybox image)", 0, 0},
	{"count", 'n', CLI_OPTION_INT, OPTION(count), "N", "how often", 1, PERF_COUNT_MAX},
	{"output", 'o', CLI_OPTION_STRING, OPTION(picture), "FILE", "draw a picture too (SVG)", 0,
	 0},
	{"network", 0, CLI_OPTION_STRING, OPTION(network), "nat|isolated",
	 "what they reach (default: nat; of what is restored isolated)", 0, 0},
	GUEST_BACKEND(struct perf_values),
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

#define PERF_COMMAND(word, text, more)                            \
	static const struct cli_command perf_##word##_command = { \
		.name = #word,                                    \
		.summary = (text),                                \
		.help = (more),                                   \
		.options = perf_options,                          \
		.values_size = sizeof(struct perf_values),        \
		.run = run_perf,                                  \
	}

PERF_COMMAND(boot, "where the time of a session's boot goes, up to its first command",
	     "Five times, unless --count says otherwise. What is made for it is removed.\n");
PERF_COMMAND(
	restore, "the same of a session that is restored from its base's template",
	"Ten times, unless --count says otherwise. Without --base one is made, and warmed; what\n"
	"is made is removed.\n");
PERF_COMMAND(exec, "where the time of a command goes",
	     "/bin/true a hundred times, unless --count says otherwise, in one session.\n");
PERF_COMMAND(claim, "the same for the first command of a session from the pool",
	     "Five times, unless --count says otherwise, from a pool of its own.\n");
PERF_COMMAND(footprint, "the memory of each process of a machine",
	     "Of three machines, one after the other, unless --count says otherwise. Private is\n"
	     "what a process has alone, shared what others have too.\n");

static const struct cli_command *const perf_commands[] = {
	&perf_boot_command,  &perf_restore_command,   &perf_exec_command,
	&perf_claim_command, &perf_footprint_command, NULL,
};

const struct cli_command cli_perf = {
	.name = "perf",
	.args = "COMMAND",
	.summary = "where the time and the memory of machines go on this host",
	.group = CLI_GROUP_HOST,
	.sub = perf_commands,
};
