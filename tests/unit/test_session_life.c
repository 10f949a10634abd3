/* SPDX-License-Identifier: MIT */
/* Tests a session from its clone to its archive: opened, listed, shared with, destroyed. */
#include <errno.h>
#include <sys/syscall.h>

#include "session_fixture.h"

#define GHOST "session-2026-05-10T14-22-00Z-0001"

static struct microagent_session *open_one(const struct rig *rig, const char *name)
{
	struct microagent_session *session = NULL;

	assert_ok(microagent_session_open(rig->agent, name, &session, &err));
	return session;
}

/* --- made ------------------------------------------------------------------------------------ */

static void what_is_recorded_of_a_clone(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	json_auto_t *record = get_json(at(rig, "sessions/%s.bundle/session.json", name));
	json_auto_t *workspace = get_json(at(rig, "sessions/%s.bundle/workspace.json", name));
	const json_t *config = json_object_get(workspace, "config");
	bool layered = strcmp(json_text(record, "clone", ""), "overlay") == 0;

	assert_string_equal(json_text(record, "name", ""), name);
	assert_string_equal(json_text(record, "base", ""), "web-v1");
	assert_string_equal(json_text(record, "source", ""), "new");
	assert_string_equal(json_text(config, "hostname", ""), name);
	assert_int_equal(json_integer_value(json_object_get(config, "memoryMiB")), 256);
	assert_int_equal(json_integer_value(json_object_get(config, "cpuCount")), 1);
	assert_true(json_is_true(json_object_get(config, "hotplug")));
	assert_int_equal(json_object_get(config, "rootfsBase") != NULL, layered);
	assert_int_equal(is_there(at(rig, "sessions/%s.bundle/rootfs.qcow2", name)), layered);
	assert_int_equal(is_there(at(rig, "sessions/%s.bundle/rootfs.ext4", name)), !layered);
	assert_false(is_there(at(rig, "sessions/%s.bundle/.making", name)));
}

static void a_clone_that_cannot_be_leaves_nothing(void **state)
{
	struct microagent_session_spec spec = plain;
	struct rig *rig = *state;
	struct microagent_session *session = NULL;

	spec.disk_quota_mib = -1;
	assert_fails(microagent_session_clone_base(rig->agent, &spec, &session, &err), ERR_INVALID,
		     "quota");
	spec = plain;
	spec.machine.network = "nat"; /* the stand-in has none: refused by prepare */
	assert_fails(microagent_session_clone_base(rig->agent, &spec, &session, &err),
		     ERR_UNSUPPORTED, "network");
	spec.base = NULL;
	assert_fails(microagent_session_clone_base(rig->agent, &spec, &session, &err), ERR_INVALID,
		     "needs a base");
	unseal(rig);
	assert_int_equal(unlink(at(rig, "bases/web-v1.bundle/overlay.qcow2")), 0);
	put(at(rig, "bases/web-v1.bundle/overlay.qcow2"), "another");
	assert_fails(microagent_session_clone_base(rig->agent, &plain, &session, &err),
		     ERR_CONFLICT, "overlay.qcow2");
	assert_null(session);
	assert_true(count_names(at(rig, "sessions")) <= 1);
	assert_true(count_names(at(rig, "sessions/.locks")) <=
		    (int)is_there(at(rig, "sessions/.locks/.ends")));
}

static void a_session_boots_and_ends(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = open_one(rig, clone_one(rig));
	json_auto_t *told = NULL;

	assert_ok(microagent_session_boot(session, &err));
	assert_int_equal(pool_member_lives(rig->agent, session->name), 1);
	told = microagent_session_describe(session, NULL);
	assert_string_equal(json_text(told, "name", ""), session->name);
	assert_string_equal(json_text(told, "base", ""), "web-v1");
	assert_ok(microagent_session_destroy(session, &err));
	assert_false(is_there(bundle(rig, session->name)));
	assert_true(is_there(at(rig, "archive/%s/audit.log", session->name)));
}

/* --- opened ---------------------------------------------------------------------------------- */

static void a_session_that_is_not_there(void **state)
{
	struct rig *rig = *state;
	struct microagent_session *session = NULL;

	assert_fails(microagent_session_open(rig->agent, GHOST, &session, &err), ERR_NOT_FOUND,
		     rig->state);
	assert_fails(microagent_session_open(rig->agent, "web", &session, &err), ERR_INVALID,
		     "\"web\"");
	touch(at(rig, "sessions/" GHOST ".bundle/notes"));
	assert_fails(microagent_session_open(rig->agent, GHOST, &session, &err), ERR_CONFLICT,
		     "left as it is");
	assert_fails(microagent_session_destroy_named(rig->agent, GHOST, &err), ERR_CONFLICT,
		     "left as it is");
	assert_true(is_there(at(rig, "sessions/" GHOST ".bundle/notes")));
	assert_null(session);
}

static void a_session_that_is_being_made(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	struct microagent_session *session = NULL;
	int mark;

	half_make(rig, name);
	mark = locked(mark_of(rig, name), LOCK_EX);
	assert_fails(microagent_session_open(rig->agent, name, &session, &err), ERR_CONFLICT,
		     "is being made");
	close(mark);
	assert_fails(microagent_session_open(rig->agent, name, &session, &err), ERR_CONFLICT,
		     "the command that made it was killed");
	/* By its name it can be destroyed. */
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
	assert_false(is_there(bundle(rig, name)));
}

/* --- destroyed ------------------------------------------------------------------------------- */

static void a_damaged_session_can_be_destroyed(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	/* Without its record its pool is not known, so it may be any. */
	put(at(rig, "sessions/%s.bundle/session.json", name), "{");
	keep_pool(rig, 1);
	touch(token(rig, POOL_CLAIMED, name));
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
	assert_false(is_there(bundle(rig, name)));
	assert_false(is_there(token(rig, POOL_CLAIMED, name)));
}

static void only_its_own_token_goes(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	make_pool(rig, "web-v1");
	make_pool(rig, "db-v1");
	touch(token(rig, POOL_CLAIMED, name));
	touch(at(rig, "pool/db-v1/claimed/%s", name));
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
	assert_false(is_there(at(rig, "pool/web-v1")));
	assert_true(is_there(at(rig, "pool/db-v1/claimed/%s", name)));
}

static void a_session_that_another_destroys(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	int mark = locked(at(rig, "sessions/.locks/.making/%s.bundle.end", name), LOCK_EX);

	assert_fails(microagent_session_destroy_named(rig->agent, name, &err), ERR_CONFLICT,
		     "being destroyed by another");
	assert_true(is_there(at(rig, "sessions/%s.bundle/session.json", name)));
	close(mark);
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
	assert_false(is_there(bundle(rig, name)));
	assert_false(is_there(at(rig, "sessions/.locks/.making")));
}

/* Its directory is gone, and another process empties the directory that has no name any more. */
static void a_session_that_another_empties(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	char gone[512];
	int held;

	snprintf(gone, sizeof(gone), "%s", at(rig, "sessions/.locks/.gone/%s.bundle", name));
	make_parents(gone);
	assert_int_equal(rename(bundle(rig, name), gone), 0);
	held = locked(gone, LOCK_EX);
	assert_fails(microagent_session_destroy_named(rig->agent, name, &err), ERR_CONFLICT,
		     "being destroyed by another");
	assert_true(is_there(gone));
	close(held);
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
	assert_false(is_there(gone));
	assert_fails(microagent_session_destroy_named(rig->agent, name, &err), ERR_NOT_FOUND, name);
}

static void an_end_that_broke_off_is_known_by_its_mark(void **state)
{
	struct rig *rig = *state;

	assert_fails(microagent_session_destroy_named(rig->agent, GHOST, &err), ERR_NOT_FOUND,
		     GHOST);
	touch(at(rig, "sessions/.locks/.making/" GHOST ".bundle.end"));
	assert_ok(microagent_session_destroy_named(rig->agent, GHOST, &err));
	assert_false(is_there(at(rig, "sessions/.locks/.making")));
}

static bool marks_stay;

/* Replaces the C library's function: a disk that fails where a mark is made. */
int unlinkat(int dir, const char *path, int flags)
{
	if (marks_stay && strstr(path, ".bundle.end")) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_unlinkat, dir, path, flags);
}

/* It would be listed as half destroyed by an unknown process. */
static void a_mark_that_stays_is_told(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	marks_stay = true;
	assert_fails(microagent_session_destroy_named(rig->agent, name, &err), ERR_IO,
		     ".bundle.end: Input/output error");
	marks_stay = false;
	assert_false(is_there(bundle(rig, name)));
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
	assert_false(is_there(at(rig, "sessions/.locks/.making")));
}

static void sessions_that_were_removed_by_hand(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = open_one(rig, clone_one(rig));

	keep_pool(rig, 1);
	touch(token(rig, POOL_CLAIMED, session->name));
	assert_ok(path_remove_tree_at(AT_FDCWD, at(rig, "sessions"), &err));
	assert_ok(microagent_session_destroy(session, &err));
	assert_false(is_there(token(rig, POOL_CLAIMED, session->name)));
	assert_false(is_there(at(rig, "sessions")));
}

/* --- listed ---------------------------------------------------------------------------------- */

static const json_t *entry_of(const json_t *answer, const char *name)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(answer, "sessions"), i, entry)
	{
		if (strcmp(json_text(entry, "name", ""), name) == 0)
			return entry;
	}
	return NULL;
}

static void sessions_as_they_are_listed(void **state)
{
	struct rig *rig = *state;
	char plain_one[SESSION_NAME_ROOM], bad[SESSION_NAME_ROOM], made[SESSION_NAME_ROOM],
		left[SESSION_NAME_ROOM];
	json_auto_t *answer = NULL;
	autoclose int mark = -1;

	snprintf(plain_one, sizeof(plain_one), "%s", clone_one(rig));
	snprintf(bad, sizeof(bad), "%s", clone_one(rig));
	snprintf(made, sizeof(made), "%s", clone_one(rig));
	snprintf(left, sizeof(left), "%s", clone_one(rig));
	put(at(rig, "sessions/%s.bundle/session.json", bad), "{");
	half_make(rig, left);
	half_make(rig, made);
	mark = locked(mark_of(rig, made), LOCK_EX);
	touch(at(rig, "sessions/notes/workspace.json"));
	answer = microagent_session_list(rig->agent, NULL);
	assert_int_equal(json_array_size(json_object_get(answer, "sessions")), 4);
	assert_string_equal(json_text(entry_of(answer, plain_one), "base", ""), "web-v1");
	assert_string_equal(json_text(entry_of(answer, plain_one), "state", ""), "prepared");
	assert_int_equal(
		json_integer_value(json_object_get(entry_of(answer, plain_one), "quotaBytes")),
		DISK_BYTES);
	assert_null(json_object_get(entry_of(answer, plain_one), "detail"));
	assert_null(json_object_get(entry_of(answer, plain_one), "pooled"));
	assert_non_null(strstr(json_text(entry_of(answer, bad), "error", ""), "session.json"));
	assert_string_equal(json_text(entry_of(answer, made), "detail", ""), "being made");
	assert_string_equal(json_text(entry_of(answer, left), "detail", ""), SESSION_UNFINISHED);
}

/* Also if its directory has lost its name. */
static void sessions_that_are_destroyed_are_listed(void **state)
{
	struct rig *rig = *state;
	char going[SESSION_NAME_ROOM], left[SESSION_NAME_ROOM], nameless[SESSION_NAME_ROOM];
	json_auto_t *answer = NULL;
	const json_t *entry;

	snprintf(going, sizeof(going), "%s", clone_one(rig));
	snprintf(left, sizeof(left), "%s", clone_one(rig));
	snprintf(nameless, sizeof(nameless), "%s", clone_one(rig));
	touch(at(rig, "sessions/.locks/.making/%s.bundle.end", left));
	touch(at(rig, "sessions/.locks/.making/%s.bundle.end", nameless));
	touch(at(rig, "sessions/.locks/.making/%s.bundle.end", going));
	autoclose int mark =
		locked(at(rig, "sessions/.locks/.making/%s.bundle.end", going), LOCK_EX);
	assert_ok(path_remove_tree_at(AT_FDCWD, bundle(rig, nameless), &err));
	answer = microagent_session_list(rig->agent, NULL);
	assert_int_equal(json_array_size(json_object_get(answer, "sessions")), 3);
	entry = entry_of(answer, going);
	assert_string_equal(json_text(entry, "detail", ""), "being destroyed");
	assert_null(json_object_get(entry, "reason"));
	entry = entry_of(answer, left);
	assert_non_null(strstr(json_text(entry, "detail", ""), "half destroyed"));
	assert_string_equal(json_text(entry, "reason", ""), "session-ending");
	entry = entry_of(answer, nameless);
	assert_non_null(strstr(json_text(entry, "detail", ""), "half destroyed"));
	assert_string_equal(json_text(entry, "state", ""), "unknown");
}

static void members_as_they_are_listed(void **state)
{
	static const struct {
		const char *kind;
		bool pooled;
	} rows[] = {{POOL_READY, true}, {POOL_CLAIMED, false}, {POOL_ENDING, true}};
	struct rig *rig = *state;
	char name[SESSION_NAME_ROOM];

	snprintf(name, sizeof(name), "%s", make_member(rig));
	assert_int_equal(unlink(token(rig, POOL_READY, name)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_auto_t *answer = NULL;
		const json_t *entry;

		touch(token(rig, rows[i].kind, name));
		answer = microagent_session_list(rig->agent, NULL);
		entry = entry_of(answer, name);
		assert_string_equal(json_text(entry, "source", ""), "pool");
		assert_int_equal(json_is_true(json_object_get(entry, "pooled")), rows[i].pooled);
		assert_int_equal(unlink(token(rig, rows[i].kind, name)), 0);
	}
	/* Its filler works on it, and it has no token yet. */
	half_make(rig, name);
	autoclose int mark = locked(mark_of(rig, name), LOCK_EX);
	json_auto_t *answer = microagent_session_list(rig->agent, NULL);

	assert_true(json_is_true(json_object_get(entry_of(answer, name), "pooled")));
	assert_string_equal(json_text(entry_of(answer, name), "detail", ""), "being made");
}

/* --- shared with ----------------------------------------------------------------------------- */

static void the_share_of_a_config(void **state)
{
	struct microagent_session_spec spec = {0};
	json_auto_t *config = json_object(), *record = json_object();
	const json_t *share;

	(void)state;
	spec.no_share = true;
	assert_ok(session_share_put(config, &spec, true, &err));
	assert_int_equal(json_object_size(config), 0);
	spec.share = "/srv/work";
	assert_fails(session_share_put(config, &spec, true, &err), ERR_INVALID, "/srv/work");
	assert_int_equal(json_object_size(config), 0);
	spec.no_share = false;
	assert_ok(session_share_put(config, &spec, true, &err));
	assert_null(json_object_get(config, "hotplug"));
	share = json_array_get(json_object_get(config, "shares"), 0);
	assert_string_equal(json_text(share, "path", ""), "/srv/work");
	assert_string_equal(json_text(share, "mountpoint", ""), "/workspace");
	assert_string_equal(json_text(share, "mode", ""), "rw");
	assert_ok(session_share_record(record, config, false, &err));
	assert_int_equal(json_object_size(json_array_get(json_object_get(record, "shares"), 0)), 4);
	assert_true(json_is_true(json_object_get(share, "direct")));
	assert_int_equal(json_object_size(share), 5); /* with its tag */
	spec = (struct microagent_session_spec){
		.share = "/srv/work", .share_at = "/mnt", .share_read_only = true};
	assert_ok(session_share_put(config, &spec, true, &err));
	share = json_array_get(json_object_get(config, "shares"), 0);
	assert_string_equal(json_text(share, "mountpoint", ""), "/mnt");
	assert_string_equal(json_text(share, "mode", ""), "ro");
	assert_null(json_object_get(share, "cache"));
	spec.share_cache = "always";
	spec.share_timeout_seconds = 60;
	assert_ok(session_share_put(config, &spec, true, &err));
	assert_ok(session_share_record(record, config, false, &err));
	share = json_array_get(json_object_get(record, "shares"), 0);
	assert_string_equal(json_text(share, "cache", ""), "always");
	assert_int_equal(json_integer_value(json_object_get(share, "timeoutSeconds")), 60);
	/* Several directories, each with a tag of its own. */
	spec.machine.shares = (const char *const[]){"/srv/more:/more:ro", "/srv/most:/most", NULL};
	spec.machine.share_anyway = true;
	assert_ok(session_share_put(config, &spec, true, &err));
	assert_int_equal(json_array_size(json_object_get(config, "shares")), 3);
	share = json_array_get(json_object_get(config, "shares"), 2);
	assert_string_equal(json_text(share, "tag", ""), "workspace-3");
	assert_string_equal(json_text(share, "path", ""), "/srv/most");
	assert_true(json_is_true(json_object_get(share, "anyway")));
	spec.machine.shares = (const char *const[]){":/more", NULL};
	assert_fails(
		session_share_put(config, &spec, true, &err), ERR_INVALID,
		"\":/more\" does not name a directory to share: write DIR, DIR:/PLACE or DIR:/PLACE:OPTIONS");
	/* A restored session gets them when it runs. */
	assert_ok(session_share_record(record, config, true, &err));
	assert_null(json_object_get(config, "shares"));
	assert_true(json_is_true(json_object_get(config, "hotplug")));
}

static void a_record_of_before(void **state)
{
	json_auto_t *record = json_pack("{s:{s:s}}", "share", "path", "/srv/work");

	(void)state;
	session_shares_of_before(record);
	session_shares_of_before(record);
	assert_null(json_object_get(record, "share"));
	assert_string_equal(
		json_text(json_array_get(json_object_get(record, "shares"), 0), "path", ""),
		"/srv/work");
}

static void a_session_that_does_not_run_is_given_nothing(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = open_one(rig, clone_one(rig));
	json_t *share = NULL;

	assert_fails(
		microagent_session_share_workspace(session, rig->root, NULL, false, &share, &err),
		ERR_CONFLICT, "is not running");
	assert_null(share);
}

/* --- telemetry ------------------------------------------------------------------------------- */

static int count_line(void *data, const char *line, size_t len, struct error *err)
{
	(void)line;
	(void)len;
	(void)err;
	(*(int *)data)++;
	return 0;
}

static void telemetry_is_found_where_it_is(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	int lines = 0;

	assert_fails(microagent_audit_telemetry(rig->agent, name, count_line, &lines, &err),
		     ERR_NOT_FOUND, name);
	put(at(rig, "sessions/%s.bundle/telemetry.jsonl", name), "{}\n{}\n");
	assert_ok(microagent_audit_telemetry(rig->agent, name, count_line, &lines, &err));
	assert_int_equal(lines, 2);
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
	lines = 0;
	assert_ok(microagent_audit_telemetry(rig->agent, name, count_line, &lines, &err));
	assert_int_equal(lines, 2);
}

/* --- made by a process whose main thread has ended ------------------------------------------- */

static void *make_alone(void *data)
{
	const struct rig *rig = data;
	struct microagent_session *session = NULL;
	struct error why = {0};
	int status = microagent_session_create(rig->agent, &plain, &session, &why);

	if (status < 0)
		fprintf(stderr, "%s\n", why.msg);
	microagent_session_close(session);
	_exit(status < 0);
}

static int end_main_thread(const struct rig *rig, void *data)
{
	pthread_t thread;

	(void)data;
	if (pthread_create(&thread, NULL, make_alone, (void *)(uintptr_t)rig) != 0)
		return 1;
	pthread_exit(NULL);
}

/* The process lives on, and so does everything that it makes. */
static void a_maker_whose_main_thread_ends(void **state)
{
	struct rig *rig = *state;
	json_auto_t *listed = NULL;
	const char *name;

	assert_int_equal(run_apart(rig, end_main_thread, NULL), 0);
	listed = microagent_session_list(rig->agent, NULL);
	assert_int_equal(json_array_size(json_object_get(listed, "sessions")), 1);
	name = json_text(json_array_get(json_object_get(listed, "sessions"), 0), "name", "");
	assert_int_equal(pool_member_lives(rig->agent, name), 1);
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		base_test(what_is_recorded_of_a_clone),
		base_test(a_clone_that_cannot_be_leaves_nothing),
		base_test(a_session_boots_and_ends),
		base_test(a_maker_whose_main_thread_ends),
		rig_test(a_session_that_is_not_there),
		base_test(a_session_that_is_being_made),
		base_test(a_damaged_session_can_be_destroyed),
		base_test(only_its_own_token_goes),
		base_test(a_session_that_another_destroys),
		base_test(a_session_that_another_empties),
		rig_test(an_end_that_broke_off_is_known_by_its_mark),
		base_test(a_mark_that_stays_is_told),
		base_test(sessions_that_were_removed_by_hand),
		base_test(sessions_as_they_are_listed),
		base_test(sessions_that_are_destroyed_are_listed),
		base_test(members_as_they_are_listed),
		cmocka_unit_test(the_share_of_a_config),
		cmocka_unit_test(a_record_of_before),
		base_test(a_session_that_does_not_run_is_given_nothing),
		base_test(telemetry_is_found_where_it_is),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("session life", tests, NULL, NULL);
}
