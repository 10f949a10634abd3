/* SPDX-License-Identifier: MIT */
/* perf: measures this host, and shows which parts of a machine take how much time (ms) and memory
 * (MiB). This file has only the command's options. The work is done by a Python program of the
 * binding (python/microagent/_perf), which replaces this process. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/cleanup.h"
#include "channel/program.h"
#include "cli/options/guest.h"
#include "cli/terminal/signals.h"

#define PROGRAM "microagent-perf"
#define COUNT_MAX 1000

struct perf_values {
	const char *base, *backend, *network, *picture;
	int64_t count;
};

static void add_option(struct argv *argv, const char *name, const char *value)
{
	if (value)
		argv_addf(argv, "--%s=%s", name, value);
}

/* Replaces this process by the program argv[0]. Returns only on failure. */
static int become_program(const char *const *argv, struct error *err)
{
	struct signals signals = SIGNALS_NONE;

	/* Blocks the signals. They stay blocked across execv(), and the new program receives them
	 * when it is ready to handle them. */
	if (signals_open_ending(&signals, err) < 0)
		return -1;
	execv(argv[0], (char *const *)(uintptr_t)argv);
	error_errno(err, errno, "%s", argv[0]);
	signals_give_back(&signals);
	if (err->errnum != ENOENT)
		return -1;
	return error_set(
		err, ERR_NOT_FOUND,
		"%s is a Python program, but Python is not installed: the Debian package python3 brings /usr/bin/python3",
		argv[0]);
}

static int run_perf(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	const struct perf_values *v = values;
	autofree char *program = NULL;
	autoargv struct argv argv = ARGV_INIT;
	const char *const *words;

	(void)args;
	if (guest_check_base(cli, v->base, err) < 0 || guest_take_backend(cli, v->backend, err) < 0)
		return -1;
	program = program_find(PROGRAM, err);
	if (!program)
		return error_set(
			err, ERR_NOT_FOUND,
			"microagent-perf, the program that measures, is neither beside microagent nor in PATH: the Debian package python3-microagent brings it");
	argv_add(&argv, program);
	argv_add(&argv, cli->command->name);
	if (cli->json)
		argv_add(&argv, "--json");
	if (v->count)
		argv_addf(&argv, "--count=%" PRId64, v->count);
	add_option(&argv, "state-dir", cli->state_dir_option);
	add_option(&argv, "base", v->base);
	add_option(&argv, "output", v->picture);
	add_option(&argv, "network", v->network);
	add_option(&argv, "backend", v->backend);
	words = argv_finish(&argv, err);
	return words ? become_program(words, err) : -1;
}

#define OPTION(field) offsetof(struct perf_values, field)

static const struct cli_option perf_options[] = {
	{"base", 0, CLI_OPTION_STRING, OPTION(base), "BASE",
	 "sessions of this base (default: a new one, made of the busybox image)", 0, 0},
	{"count", 'n', CLI_OPTION_INT, OPTION(count), "N", "how often", 1, COUNT_MAX},
	{"output", 'o', CLI_OPTION_STRING, OPTION(picture), "FILE", "draw a picture too (SVG)", 0,
	 0},
	{"network", 0, CLI_OPTION_STRING, OPTION(network), "nat|isolated",
	 "what they reach (default: nat; isolated if they are restored)", 0, 0},
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
	     "It measures five times, or --count times. What it makes is removed again.\n");
PERF_COMMAND(
	restore, "the same for a session that is restored from its base's template",
	"It measures ten times, or --count times. Without --base it makes a base and warms it.\n"
	"What it makes is removed again.\n");
PERF_COMMAND(exec, "where the time of a command goes",
	     "It runs /bin/true a hundred times, or --count times, in one session.\n");
PERF_COMMAND(claim, "the same for the first command of a session from the pool",
	     "It measures five times, or --count times, from a pool of its own.\n");
PERF_COMMAND(
	footprint, "the memory of each process of a machine",
	"It measures three machines, or --count machines, one after the other. Private memory\n"
	"is what a process has alone; shared memory is what other processes have too.\n");

static const struct cli_command *const perf_commands[] = {
	&perf_boot_command,  &perf_restore_command,   &perf_exec_command,
	&perf_claim_command, &perf_footprint_command, NULL,
};

const struct cli_command cli_perf = {
	.name = "perf",
	.args = "COMMAND",
	.summary = "measure where machines spend time and memory on this host",
	.group = CLI_GROUP_HOST,
	.sub = perf_commands,
};
