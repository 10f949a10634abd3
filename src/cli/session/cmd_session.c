/* SPDX-License-Identifier: MIT */
/* session: manages sessions, which are cloned from a base for one task and destroyed afterwards. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/output/hint.h"
#include "cli/session/session.h"
#include "cli/terminal/signals.h"
#include "cli/workspace/connect.h"
#include "cli/workspace/exec.h"
#include "microagent_session.h"

struct session_values {
	struct machine_values machine;
	const char *base;
	int64_t disk_quota;
	const char *share_at, *share_cache;
	int64_t share_timeout;
	bool share_read_only, no_share, cold;
	int64_t lifetime, idle;
};

/* --- create ---------------------------------------------------------------------------------- */

/* Reads the session's base, which decides the kernel and the architecture of the machine, and the
 * user as whom commands run. The warnings about these depend on the base. */
void session_warn_made(const struct cli *cli, struct microagent *agent, const json_t *session)
{
	json_auto_t *base = microagent_base_show(agent, json_text(session, "base", NULL), NULL);
	const char *kernel = json_text(json_object_get(base, "kernel"), "path", NULL);

	if (kernel)
		guest_warn_init(cli, kernel, json_text(base, "architecture", "amd64"));
	guest_warn_accelerator(cli, json_text(session, "accelerator", ""));
	if (json_object_get(session, "shares"))
		session_warn_user(cli, base);
	if (strcmp(json_text(session, "clone", ""), "copy") == 0)
		guest_warn(
			cli,
			"the session's disk is a full copy of the base's disk, which takes time and space: on a file system with reflinks (XFS, Btrfs, APFS) it would be a clone");
}

/* Prints the name of a new session. A session cannot be used without its name. So if the name
 * cannot be printed, the session is destroyed, and main() prints the error of the failed write. */
static int hand_out(struct cli *cli, struct microagent *agent, struct microagent_session *session,
		    struct signals *signals, struct error *err)
{
	json_auto_t *described = microagent_session_describe(session, err);
	struct error why = {0};

	if (!described)
		return -1;
	session_warn_made(cli, agent, described);
	if (signals_next(signals) > 0)
		return microagent_session_destroy(session, err) < 0
			       ? -1
			       : error_set(err, ERR_UNAVAILABLE, "cancelled");
	if (cli->json) {
		if (cli_print_json(described, &why) == 0)
			return CLI_EXIT_OK;
	} else if (printf("%s\n", json_text(described, "name", NULL)) >= 0 && fflush(stdout) == 0) {
		return CLI_EXIT_OK;
	} else {
		error_errno(&why, errno, "cannot write to stdout");
	}
	cli->stdout_errnum = why.errnum;
	if (microagent_session_destroy(session, err) < 0)
		return -1;
	guest_warn(cli, "session %s was destroyed again, because its name could not be printed",
		   json_text(described, "name", NULL));
	return CLI_EXIT_OK;
}

static int create_session_in(struct cli *cli, struct microagent *agent,
			     const struct session_values *v, const struct session_dirs *dirs,
			     struct signals *signals, struct error *err)
{
	struct microagent_session_spec spec = {
		.machine = machine_asked(&v->machine),
		.base = v->base,
		.share = dirs->plain,
		.share_at = v->share_at,
		.share_read_only = v->share_read_only,
		.share_cache = v->share_cache,
		.share_timeout_seconds = v->share_timeout,
		.no_share = v->no_share,
		.cold = v->cold,
		.disk_quota_mib = v->disk_quota,
		.lifetime_seconds = v->lifetime,
		.idle_seconds = v->idle,
		.cancel = signals->fd,
	};
	struct microagent_session *session = NULL;
	int code;

	spec.machine.shares = (const char *const *)dirs->words;
	if (microagent_session_create(agent, &spec, &session, err) < 0)
		return -1;
	code = hand_out(cli, agent, session, signals, err);
	microagent_session_close(session);
	return code;
}

/* If a signal has cancelled the making of a session, prints the error and returns 128 plus the
 * number of that signal. Otherwise returns `code`. */
int session_end_by_signal(const struct cli *cli, struct signals *signals, int code,
			  const struct error *err)
{
	if (code < 0 && (signals->last || signals_next(signals) > 0)) {
		if (cli->json)
			cli_print_error(cli, err, stdout);
		else
			cli_warn_error(cli, "no session was made: ", err);
		code = 128 + signals_that_came(signals);
	}
	signals_close(signals);
	return code;
}

static int take_share_words(struct cli *cli, const struct session_values *v,
			    struct session_dirs *out, struct error *err)
{
	bool of_plain = v->share_at || v->share_read_only || v->share_cache || v->share_timeout;

	if (session_dirs_take(cli, &v->machine.shares, out, err) < 0)
		return -1;
	if (v->machine.shares.count && v->no_share)
		return cli_usage(
			cli, err,
			"--share and --no-share exclude each other: leave one of them out");
	if (!v->machine.shares.count &&
	    (of_plain || v->machine.asked.share_anyway || v->machine.asked.share_git))
		return cli_usage(
			cli, err,
			"--share-at, --share-ro, --share-cache, --share-timeout, --share-anyway and --share-git need --share DIR: give --share too, or leave them out");
	if (of_plain && !out->plain)
		return cli_usage(
			cli, err,
			"--share-at, --share-ro, --share-cache and --share-timeout need one --share DIR without a place: if the word has a place, write the options in it, as in DIR:/PLACE:ro,cache=none");
	return 0;
}

static int run_session_create(struct cli *cli, const void *values, const struct cli_words *args,
			      struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct session_values *v = values;
	auto_dirs struct session_dirs dirs = {0};
	struct signals signals = SIGNALS_NONE;
	struct microagent *agent;
	int code;

	(void)args;
	if (!v->base)
		return cli_usage(
			cli, err,
			"--base NAME is missing: it names the base that the session is cloned from; `microagent base list` shows the bases");
	if (guest_check_base(cli, v->base, err) < 0 || take_share_words(cli, v, &dirs, err) < 0 ||
	    machine_check_values(cli, &v->machine, err) < 0)
		return -1;
	machine_warn(cli, &v->machine);
	if (!v->machine.asked.share_git)
		session_dirs_hint_git(cli, &dirs, v->share_at);
	agent = guest_open(cli, &progress, err);
	/* Handles signals: before one of them ends this program, the machine must be ended and its
	 * disk removed. */
	if (!agent || signals_open_ending(&signals, err) < 0) {
		microagent_close(agent);
		return -1;
	}
	if (v->machine.unconfined)
		guest_unconfined(cli, agent);
	progress_start(&progress, "booting the session");
	code = create_session_in(cli, agent, v, &dirs, &signals, err);
	microagent_close(agent);
	progress_end(&progress);
	return session_end_by_signal(cli, &signals, code, err);
}

/* --- list ------------------------------------------------------------------------------------ */

/* Appends whether the session's machine was restored or has booted. Appends nothing if the base has
 * no template. */
static void add_boot(const json_t *session, char out[HINT_ROOM])
{
	const json_t *boot = json_object_get(session, "boot");
	const char *why = json_text(boot, "why", json_text(session, "cold", NULL));
	size_t used = strlen(out);

	if (strcmp(json_text(boot, "how", ""), "restored") == 0)
		snprintf(out + used, HINT_ROOM - used, "%srestored", used ? "; " : "");
	else if (why)
		snprintf(out + used, HINT_ROOM - used, "%sbooted: %s", used ? "; " : "", why);
}

static void session_detail(const json_t *session, char out[HINT_ROOM])
{
	const char *detail = json_text(session, "error", json_text(session, "detail", NULL));

	/* Marks a member of a pool, but not if the member is in quarantine: then it is shown like
	 * any other session. */
	if (json_is_true(json_object_get(session, "pooled")) &&
	    strcmp(json_text(session, "state", ""), "quarantined") != 0)
		snprintf(out, HINT_ROOM, "%s",
			 detail ? "being made, for the pool" : "waits in the pool");
	else
		hint_add_to_detail(session, "name", detail, out);
	add_boot(session, out);
	session_add_end(session, json_text(session, "state", NULL), out);
}

static int print_sessions(const json_t *sessions, struct error *err)
{
	static const char *const heads[] = {"NAME",  "BASE",  "STATE", "SOURCE",
					    "CLONE", "SHARE", "DETAIL"};
	auto_table struct cli_table table = {0};
	const json_t *session;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(sessions, i, session)
	{
		const json_t *shares = json_object_get(session, "shares");
		size_t share_count = json_array_size(shares);
		char detail[HINT_ROOM], shared[HINT_ROOM];

		session_detail(session, detail);
		snprintf(shared, sizeof(shared), "%.900s",
			 json_text(json_array_get(shares, 0), "path", ""));
		if (share_count > 1)
			snprintf(shared + strlen(shared), sizeof(shared) - strlen(shared),
				 " and %zu more", share_count - 1);
		const char *const cells[] = {
			json_text(session, "name", NULL),  json_text(session, "base", NULL),
			json_text(session, "state", NULL), json_text(session, "source", NULL),
			json_text(session, "clone", NULL), *shared ? shared : NULL,
			*detail ? detail : NULL,
		};

		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	if (json_array_size(sessions) == 0)
		cli_warn("there is no session: `microagent session create --base NAME` makes one");
	return CLI_EXIT_OK;
}

static int run_session_list(struct cli *cli, const void *values, const struct cli_words *args,
			    struct error *err)
{
	const struct guest_list list = {microagent_session_list, "sessions", print_sessions};

	(void)values;
	(void)args;
	return guest_print_list(cli, &list, err);
}

/* --- exec ------------------------------------------------------------------------------------ */

static int run_session_exec(struct cli *cli, const void *values, const struct cli_words *args,
			    struct error *err)
{
	return exec_run(cli, values, args, guest_open_session, err);
}

static int run_shell(struct cli *cli, const void *values, const struct cli_words *args,
		     struct error *err)
{
	return connect_run(cli, values, args->items[0], guest_open_session, err);
}

#define OPTION(field) offsetof(struct session_values, field)

static const struct cli_option create_options[] = {
	{"base", 0, CLI_OPTION_STRING, OPTION(base), "BASE",
	 "base that it is cloned from: NAME is the newest version, NAME-vN that one", 0, 0},
	{"disk-quota", 0, CLI_OPTION_INT, OPTION(disk_quota), "MIB",
	 "growth of the session's disk on this host (default: the size of the base's)", 1,
	 INT32_MAX},
	{"lifetime", 0, CLI_OPTION_DURATION, OPTION(lifetime), "TIME",
	 "destroy it this long after it was made, like 90s, 30m, 2h or 30d", 0, 0},
	{"idle", 0, CLI_OPTION_DURATION, OPTION(idle), "TIME",
	 "destroy it when nobody has used it for this long", 0, 0},
	{"share-at", 0, CLI_OPTION_STRING, OPTION(share_at), "PATH",
	 "where the one shared directory is in the session (default: /workspace)", 0, 0},
	{"share-ro", 0, CLI_OPTION_FLAG, OPTION(share_read_only), NULL,
	 "the session cannot write to the shared directory", 0, 0},
	{"share-cache", 0, CLI_OPTION_STRING, OPTION(share_cache), "auto|always|none",
	 "what the guest keeps of it in memory (default: auto)", 0, 0},
	{"share-timeout", 0, CLI_OPTION_INT, OPTION(share_timeout), "SECONDS",
	 "how long the guest keeps names and attributes (default: 1)", 1, 86400},
	{"cold", 0, CLI_OPTION_FLAG, OPTION(cold), NULL,
	 "boot it, even if `base warm` has saved a machine to restore", 0, 0},
	{"no-share", 0, CLI_OPTION_FLAG, OPTION(no_share), NULL,
	 "no shared directory, now or later by `session share`: it boots faster", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static const struct cli_command session_create = {
	.name = "create",
	.summary = "a new session, ready for its first command; prints its name",
	.options = create_options,
	.machine = MACHINE_OPTIONS_OF_SESSION,
	.values_size = sizeof(struct session_values),
	.run = run_session_create,
};

static const struct cli_command session_list = {
	.name = "list",
	.summary = "the sessions and their states",
	.run = run_session_list,
};

static const struct cli_command session_exec = {
	.name = "exec",
	.args = "SESSION [--] CMD [WORD...]",
	.summary = "run a command in a session, as `microagent exec` does",
	.options = exec_options,
	.values_size = sizeof(struct exec_values),
	.min_args = 2,
	.max_args = SIZE_MAX,
	.takes_command = true,
	.plain_args = 1,
	.guest_exit = true,
	.check_name = microagent_session_check_name,
	.run = run_session_exec,
};

static const struct cli_command session_shell = {
	.name = "shell",
	.args = "SESSION",
	.summary = "a shell in a session, as `microagent connect`",
	.options = connect_options,
	.values_size = sizeof(struct connect_values),
	.min_args = 1,
	.max_args = 1,
	.guest_exit = true,
	.check_name = microagent_session_check_name,
	.run = run_shell,
};

static const struct cli_command *const session_commands[] = {
	&session_create,  &session_list,      &session_exec,
	&session_stream,  &session_shell,     &session_share,
	&session_quota,	  &session_fork,      &session_snapshot,
	&session_restore, &session_snapshots, &session_snapshot_delete,
	&session_destroy, &session_gc,	      NULL,
};

const struct cli_command cli_session = {
	.name = "session",
	.args = "COMMAND",
	.summary = "machines for one task each, cloned from a base",
	.help = "exec, connect, cp, ls, status, logs, stop, start and similar commands take a session's\n"
		"name too, if no workspace has that name.\n",
	.group = CLI_GROUP_RUN,
	.sub = session_commands,
};
