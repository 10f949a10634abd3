/* SPDX-License-Identifier: MIT */
/* pool: makes sessions in advance, so that they are ready when they are needed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/output/hint.h"
#include "microagent_session.h"

struct pool_values {
	struct machine_values machine;
	const char *base;
	int64_t size, lock_fd;
};

static int require_base(struct cli *cli, const struct pool_values *v, struct error *err)
{
	if (!v->base)
		return cli_usage(
			cli, err,
			"--base NAME is missing: it names the base of the sessions; `microagent base list` shows the bases");
	return guest_check_base(cli, v->base, err);
}

/* --- set
 * ------------------------------------------------------------------------------------------ */

/* Prints the result of a change and closes `agent`. With --json prints the state of all pools
 * instead. */
static int done(const struct cli *cli, struct microagent *agent, int status, const char *base,
		const char *what, struct error *err)
{
	json_auto_t *answer = NULL;

	if (status == 0 && cli->json)
		answer = microagent_pool_status(agent, err);
	microagent_close(agent);
	if (status < 0)
		return -1;
	if (cli->json)
		return answer ? cli_print_json(answer, err) : -1;
	printf("%s: %s\n", base ? base : "all pools", what);
	return CLI_EXIT_OK;
}

static int run_set(struct cli *cli, const void *values, const struct cli_words *args,
		   struct error *err)
{
	const struct pool_values *v = values;
	const struct microagent_pool_spec spec = {
		.base = v->base, .size = v->size, .machine = machine_asked(&v->machine)};
	char itself[CLI_ITSELF], said[CLI_ITSELF + 64];
	struct microagent *agent;

	(void)args;
	if (require_base(cli, v, err) < 0 || machine_check_values(cli, &v->machine, err) < 0)
		return -1;
	if (!v->size)
		return cli_usage(
			cli, err,
			"--size N is missing: it says how many sessions are kept ready, at least 1; `microagent pool drain` keeps none");
	agent = guest_open(cli, NULL, err);
	if (!agent)
		return -1;
	snprintf(said, sizeof(said),
		 "the sessions are kept ready from now on; `%s pool status` shows how many are",
		 cli_itself(cli, itself));
	return done(cli, agent, microagent_pool_set(agent, &spec, err), v->base, said, err);
}

/* --- status
 * --------------------------------------------------------------------------------------- */

static int print_pools(const json_t *pools, struct error *err)
{
	static const char *const heads[] = {"BASE",  "BACKEND", "SIZE",
					    "READY", "FILLING", "DETAIL"};
	auto_table struct cli_table table = {0};
	const json_t *pool;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(pools, i, pool)
	{
		char size[24], ready[24], detail[HINT_ROOM];

		hint_add_to_detail(pool, "base", json_text(pool, "detail", NULL), detail);
		snprintf(size, sizeof(size), "%" PRIdMAX,
			 (intmax_t)json_integer_value(json_object_get(pool, "size")));
		snprintf(ready, sizeof(ready), "%" PRIdMAX,
			 (intmax_t)json_integer_value(json_object_get(pool, "ready")));
		const char *const cells[] = {json_text(pool, "base", NULL),
					     json_text(pool, "backend", NULL),
					     size,
					     ready,
					     json_is_true(json_object_get(pool, "filling")) ? "yes"
											    : "no",
					     *detail ? detail : NULL};

		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	if (json_array_size(pools) == 0)
		cli_warn("there is no pool: `microagent pool set --base NAME --size N` makes one");
	return CLI_EXIT_OK;
}

static int run_pool_status(struct cli *cli, const void *values, const struct cli_words *args,
			   struct error *err)
{
	const struct guest_list list = {microagent_pool_status, "pools", print_pools};

	(void)values;
	(void)args;
	return guest_print_list(cli, &list, err);
}

/* --- drain
 * ---------------------------------------------------------------------------------------- */

static int run_drain(struct cli *cli, const void *values, const struct cli_words *args,
		     struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct pool_values *v = values;
	struct microagent *agent;

	(void)args;
	if (guest_check_base(cli, v->base, err) < 0)
		return -1;
	agent = guest_open(cli, &progress, err);
	if (!agent)
		return -1;
	progress_start(&progress, "ending the sessions that wait");
	return done(cli, agent, microagent_pool_drain(agent, v->base, err), v->base, "drained",
		    err);
}

/* --- fill
 * ----------------------------------------------------------------------------------------- */

/* Starts a child process, which goes on in the background. Returns 0 in the child, 1 in the parent,
 * and -1 on error. */
static int go_to_background(struct error *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return error_errno(err, errno, "fork");
	if (pid > 0)
		return 1;
	if (setsid() < 0)
		return error_errno(err, errno, "setsid");
	return 0;
}

static int run_fill(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	const struct pool_values *v = values;
	int lock_fd = v->lock_fd ? (int)v->lock_fd : -1;
	struct microagent *agent;
	int status = 0;

	(void)args;
	if (require_base(cli, v, err) < 0)
		return -1;
	if (lock_fd >= 0 && fd_cloexec(lock_fd, true, err) < 0)
		return error_prefix(err, "--lock-fd %d", lock_fd);
	if (lock_fd >= 0)
		status = go_to_background(err);
	if (status != 0)
		return status < 0 ? -1 : CLI_EXIT_OK;
	agent = guest_open(cli, NULL, err);
	if (!agent)
		return -1;
	return done(cli, agent, microagent_pool_fill(agent, v->base, lock_fd, err), v->base,
		    "filled", err);
}

#define OPTION(field) offsetof(struct pool_values, field)
#define BASE_OPTION(value, text)                                              \
	{                                                                     \
		"base", 0, CLI_OPTION_STRING, OPTION(base), value, text, 0, 0 \
	}
#define LAST_OPTION                                           \
	{                                                     \
		NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0 \
	}

static const struct cli_option set_options[] = {
	BASE_OPTION("BASE", "base of the sessions: NAME is the newest version, NAME-vN that one"),
	{"size", 0, CLI_OPTION_INT, OPTION(size), "N", "how many are kept ready", 0, INT32_MAX},
	LAST_OPTION,
};

static const struct cli_option drain_options[] = {
	BASE_OPTION("POOL", "base of the pool: NAME is all its versions (default: every pool)"),
	LAST_OPTION,
};

static const struct cli_option fill_options[] = {
	BASE_OPTION("BASE-vN", "base of the pool: NAME-vN"),
	{"lock-fd", 0, CLI_OPTION_INT, OPTION(lock_fd), "FD",
	 "run in the background with this descriptor, which holds the pool's lock; for programs", 3,
	 INT32_MAX},
	LAST_OPTION,
};

static const struct cli_command pool_set = {
	.name = "set",
	.summary = "keep a number of sessions of a base ready",
	.help = "`microagent session create` then takes one of them where it asks for the same\n"
		"base, memory, processors, network and backend. They are made in the background.\n",
	.options = set_options,
	.machine = MACHINE_OPTIONS_OF_POOL,
	.values_size = sizeof(struct pool_values),
	.run = run_set,
};

static const struct cli_command pool_status = {
	.name = "status",
	.summary = "the pools, and how many sessions are ready",
	.run = run_pool_status,
};

static const struct cli_command pool_drain = {
	.name = "drain",
	.summary = "keep no session ready any more; returns when all are gone",
	.help = "Sessions that were taken from the pool stay.\n",
	.options = drain_options,
	.values_size = sizeof(struct pool_values),
	.run = run_drain,
};

static const struct cli_command pool_fill = {
	.name = "fill",
	.summary = "make the missing sessions, which otherwise happens by itself",
	.help = "`pool set` and `session create` start this in the background. Run it yourself to see\n"
		"what it does, for example after a failure. It runs at idle priority.\n",
	.options = fill_options,
	.values_size = sizeof(struct pool_values),
	.run = run_fill,
};

static const struct cli_command *const pool_commands[] = {
	&pool_set, &pool_status, &pool_drain, &pool_fill, NULL,
};

const struct cli_command cli_pool = {
	.name = "pool",
	.args = "COMMAND",
	.summary = "sessions that are kept ready",
	.group = CLI_GROUP_HOST,
	.sub = pool_commands,
};
