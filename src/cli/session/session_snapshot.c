/* SPDX-License-Identifier: MIT */
/* session snapshot, restore, snapshots, snapshot-delete: keep states of a session under names, and
 * go back to them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "microagent_session.h"

static long long point_mib(const json_t *snapshot, const char *key)
{
	return (json_integer_value(json_object_get(snapshot, key)) + (1 << 20) - 1) >> 20;
}

/* An action on a session and one of its snapshots. `fn` does the action, and `say` prints its
 * result. If the action has no result, *told stays NULL. */
struct snapshot_act {
	const char *doing;
	int (*fn)(struct microagent_session *session, const char *name, json_t **told,
		  struct error *err);
	void (*say)(const struct cli *cli, const struct microagent_session *session,
		    const json_t *told);
};

static int tell_act(const struct cli *cli, const struct snapshot_act *act,
		    const struct microagent_session *session, const char *name, json_t *told,
		    struct error *err)
{
	json_auto_t *answer = NULL;

	act->say(cli, session, told);
	if (!cli->json)
		return CLI_EXIT_OK;
	answer = json_pack("{s:b, s:s, s:o}", "ok", 1, "session", microagent_session_name(session),
			   "snapshot", told ? json_incref(told) : json_pack("{s:s}", "name", name));
	return cli_print_json(answer, err);
}

static int act_on(struct cli *cli, const struct snapshot_act *act, const struct cli_words *args,
		  struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	struct microagent_session *session = NULL;
	struct microagent *agent = NULL;
	json_auto_t *told = NULL;
	struct error why = {0};
	int code = -1;

	if (microagent_snapshot_check_name(args->items[1], &why) < 0)
		return cli_usage_error(cli, &why, err);
	agent = guest_open(cli, &progress, err);
	if (!agent)
		return -1;
	progress_start(&progress, act->doing);
	if (microagent_session_open(agent, args->items[0], &session, err) == 0 &&
	    act->fn(session, args->items[1], &told, err) == 0) {
		progress_end(&progress);
		code = tell_act(cli, act, session, args->items[1], told, err);
	}
	microagent_session_close(session);
	microagent_close(agent);
	return code;
}

/* --- made ------------------------------------------------------------------------------------ */

static void say_point_kept(const struct cli *cli, const struct microagent_session *session,
			   const json_t *told)
{
	if (!cli->json)
		printf("%s: snapshot %s has %lld MiB; the session was paused for %.0f ms\n",
		       microagent_session_name(session), json_text(told, "name", ""),
		       point_mib(told, "stateBytes") + point_mib(told, "diskBytes"),
		       json_number_value(json_object_get(told, "pauseMs")));
}

static int run_snapshot(struct cli *cli, const void *values, const struct cli_words *args,
			struct error *err)
{
	static const struct snapshot_act act = {"saving the session", microagent_session_snapshot,
						say_point_kept};

	(void)values;
	return act_on(cli, &act, args, err);
}

/* --- the result of a restore ----------------------------------------------------------------- */

static void say_restored(const struct cli *cli, const struct microagent_session *session,
			 const json_t *told)
{
	const char *name = microagent_session_name(session);
	const char *unshared = json_text(told, "unshared", NULL);
	const json_t *boot = json_object_get(told, "boot");
	bool cold = strcmp(json_text(boot, "how", ""), "restored") != 0;

	if (cold)
		guest_warn(
			cli,
			"the processes of the session are lost, because the session was booted from the snapshot's disk: %.200s",
			json_text(boot, "why", ""));
	if (unshared) {
		json_auto_t *described = microagent_session_describe(session, NULL);

		session_warn_unshared(cli, name, json_object_get(described, "shares"), unshared);
	}
	if (!cli->json)
		printf("%s: %s %s\n", name, cold ? "booted from the disk of" : "goes on from",
		       json_text(told, "name", ""));
}

static int run_restore(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err)
{
	static const struct snapshot_act act = {"going back to the snapshot",
						microagent_session_restore, say_restored};

	(void)values;
	return act_on(cli, &act, args, err);
}

/* --- deleted --------------------------------------------------------------------------------- */

static int delete_snapshot(struct microagent_session *session, const char *name, json_t **told,
			   struct error *err)
{
	(void)told;
	return microagent_session_snapshot_delete(session, name, err);
}

static void say_deleted(const struct cli *cli, const struct microagent_session *session,
			const json_t *told)
{
	(void)told;
	if (!cli->json)
		printf("%s: deleted\n", microagent_session_name(session));
}

static int run_snapshot_delete(struct cli *cli, const void *values, const struct cli_words *args,
			       struct error *err)
{
	static const struct snapshot_act act = {"deleting the snapshot", delete_snapshot,
						say_deleted};

	(void)values;
	return act_on(cli, &act, args, err);
}

/* --- listed ---------------------------------------------------------------------------------- */

static int print_snapshots(const json_t *snapshots, struct error *err)
{
	static const char *const heads[] = {"NAME", "CREATED", "MEMORY MIB", "DISK MIB", "DETAIL"};
	auto_table struct cli_table table = {0};
	const json_t *snapshot;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(snapshots, i, snapshot)
	{
		bool damaged = json_object_get(snapshot, "error") != NULL;
		char memory[24], disk[24];

		snprintf(memory, sizeof(memory), "%lld", point_mib(snapshot, "stateBytes"));
		snprintf(disk, sizeof(disk), "%lld", point_mib(snapshot, "diskBytes"));
		const char *const cells[] = {json_text(snapshot, "name", NULL),
					     json_text(snapshot, "createdAt", NULL),
					     damaged ? NULL : memory, damaged ? NULL : disk,
					     json_text(snapshot, "error", NULL)};

		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	if (json_array_size(snapshots) == 0)
		cli_warn(
			"the session has no snapshot: `microagent session snapshot NAME SNAPSHOT` makes one");
	return CLI_EXIT_OK;
}

static int run_snapshots(struct cli *cli, const void *values, const struct cli_words *args,
			 struct error *err)
{
	struct microagent_session *session = NULL;
	struct microagent *agent = guest_open(cli, NULL, err);
	json_auto_t *answer = NULL;

	(void)values;
	if (agent && microagent_session_open(agent, args->items[0], &session, err) == 0)
		answer = microagent_session_snapshots(session, err);
	microagent_session_close(session);
	microagent_close(agent);
	if (!answer)
		return -1;
	return cli->json ? cli_print_json(answer, err)
			 : print_snapshots(json_object_get(answer, "snapshots"), err);
}

/* --- the commands ---------------------------------------------------------------------------- */

const struct cli_command session_snapshot = {
	.name = "snapshot",
	.args = "SESSION NEW",
	.summary = "keep a session as it is now, with what runs in it, under a name",
	.min_args = 2,
	.max_args = 2,
	.check_name = microagent_session_check_name,
	.run = run_snapshot,
};

const struct cli_command session_restore = {
	.name = "restore",
	.args = "SESSION SNAPSHOT",
	.summary = "let a session go on from a snapshot; what it did since is lost",
	.min_args = 2,
	.max_args = 2,
	.check_name = microagent_session_check_name,
	.run = run_restore,
};

const struct cli_command session_snapshots = {
	.name = "snapshots",
	.args = "SESSION",
	.summary = "the snapshots of a session",
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_session_check_name,
	.run = run_snapshots,
};

const struct cli_command session_snapshot_delete = {
	.name = "snapshot-delete",
	.args = "SESSION SNAPSHOT",
	.summary = "delete a snapshot of a session",
	.min_args = 2,
	.max_args = 2,
	.check_name = microagent_session_check_name,
	.run = run_snapshot_delete,
};
