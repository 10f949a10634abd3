/* SPDX-License-Identifier: MIT */
/* Tests sessions that go on from where one is, or was. */
#include "session_restored.h"
#include "store/record_digest.h"

static const struct microagent_fork_spec one = {.count = 1}, two = {.count = 2};

static const char *name_of(const struct microagent_session *session)
{
	return microagent_session_name(session);
}

/* Returns how often the session's audit log has an event with that value of a key. */
static int count_lines(const struct rig *rig, const char *name, const char *event, const char *key,
		       const char *value)
{
	const char *live = at(rig, "sessions/%s.bundle/audit.log", name);
	autofile FILE *log =
		fopen(is_there(live) ? live : at(rig, "archive/%s/audit.log", name), "re");
	autofree char *text = NULL;
	size_t room = 0;
	int count = 0;

	assert_non_null(log);
	while (getline(&text, &room, log) > 0) {
		json_auto_t *line = json_loads(text, 0, NULL);

		count += strcmp(json_text(line, "event", ""), event) == 0 &&
			 strcmp(json_text(json_object_get(line, "data"), key, ""), value) == 0;
	}
	return count;
}

static bool runs(const struct rig *rig, const char *name)
{
	json_auto_t *event = get_json(at(rig, "sessions/%s.bundle/event.json", name));

	return strcmp(json_text(event, "state", ""), "running") == 0;
}

static const char *how_it_began(const struct rig *rig, const char *name)
{
	static char how[16];
	json_auto_t *runtime = get_json(at(rig, "sessions/%s.bundle/runtime.json", name));

	snprintf(how, sizeof(how), "%s", json_text(json_object_get(runtime, "boot"), "how", ""));
	return how;
}

/* Requires that nothing is left of a fork, of a snapshot or of their making. */
static void assert_no_points(const struct rig *rig, const char *name, int kept)
{
	int count = count_names(at(rig, "sessions/%s.bundle/points", name));

	assert_int_equal(count < 0 ? 0 : count, kept);
	assert_false(is_there(at(rig, "sessions/%s.bundle/fork.state", name)));
	assert_false(is_there(at(rig, "sessions/%s.bundle/fork.disk", name)));
}

static void check_child(const struct rig *rig, const struct microagent_session *parent,
			const struct microagent_session *child)
{
	json_auto_t *told = microagent_session_describe(child, NULL);
	json_auto_t *config = get_json(at(rig, "sessions/%s/workspace.json", child->id));
	const json_t *body = json_object_get(config, "config");

	assert_string_equal(json_text(told, "source", ""), "fork");
	assert_string_equal(json_text(told, "parent", ""), name_of(parent));
	assert_string_equal(json_text(told, "base", ""), "web-v1");
	assert_int_equal(json_integer_value(json_object_get(told, "quotaBytes")),
			 parent->quota_bytes);
	assert_string_equal(json_text(body, "hostname", ""), name_of(child));
	assert_non_null(strstr(json_text(body, "rootfsPath", ""), name_of(child)));
	assert_string_equal(how_it_began(rig, name_of(child)), "restored");
	assert_true(runs(rig, name_of(child)));
	assert_int_equal(
		count_lines(rig, name_of(child), "session.forked", "parent", name_of(parent)), 1);
	assert_int_equal(
		count_lines(rig, name_of(parent), "session.forked", "child", name_of(child)), 1);
}

static void children_go_on_from_where_it_is(void **state)
{
	struct rig *rig = *state;
	struct microagent_session *parent = make_restored(rig), *children[2], *grandchild = NULL;
	json_auto_t *told = NULL;

	assert_ok(microagent_session_fork(parent, &two, children, &told, &err));
	assert_true(json_is_number(json_object_get(told, "pauseMs")));
	assert_int_equal(json_integer_value(json_object_get(told, "stateBytes")), 9);
	assert_true(runs(rig, name_of(parent)));
	assert_no_points(rig, name_of(parent), 0);
	check_child(rig, parent, children[0]);
	check_child(rig, parent, children[1]);
	/* The children are whole without it, and can be forked themselves. */
	assert_ok(microagent_session_destroy(parent, &err));
	assert_ok(microagent_session_fork(children[0], &one, &grandchild, NULL, &err));
	assert_ok(microagent_session_destroy(children[0], &err));
	check_child(rig, children[0], grandchild);
	assert_true(runs(rig, name_of(children[1])));
	microagent_session_close(parent);
	microagent_session_close(children[0]);
	microagent_session_close(children[1]);
	microagent_session_close(grandchild);
}

static void what_cannot_be_forked(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *cold = NULL, *restored = make_restored(rig);
	struct microagent_session *child = NULL;
	const struct microagent_fork_spec none = {0}, many = {.count = 101};

	assert_fails(microagent_session_fork(restored, &none, &child, NULL, &err), ERR_INVALID,
		     "from 1 to 100");
	assert_fails(microagent_session_fork(restored, &many, &child, NULL, &err), ERR_INVALID,
		     "from 1 to 100");
	assert_ok(microagent_session_clone_base(rig->agent, &plain, &cold, &err));
	assert_fails(microagent_session_fork(cold, &one, &child, NULL, &err), ERR_CONFLICT,
		     "is prepared, and only");
	assert_ok(microagent_session_boot(cold, &err));
	assert_fails(microagent_session_fork(cold, &one, &child, NULL, &err), ERR_CONFLICT,
		     "was booted");
	assert_ok(microagent_session_snapshot(restored, "done", NULL, &err));
	assert_ok(microagent_kill(restored->agent, restored->id, NULL, &err));
	assert_fails(microagent_session_fork(restored, &one, &child, NULL, &err), ERR_CONFLICT,
		     "stopped");
	assert_ok(microagent_quarantine(restored->agent, restored->id, NULL, &err));
	assert_fails(microagent_session_fork(restored, &one, &child, NULL, &err), ERR_CONFLICT,
		     "is quarantined");
	assert_fails(microagent_session_restore(restored, "done", NULL, &err), ERR_CONFLICT,
		     "is kept as it is");
	assert_null(child);
	assert_no_points(rig, name_of(cold), 0);
	assert_no_points(rig, name_of(restored), 1);
}

/* It would be another machine than the one that was asked for. */
static void a_child_that_would_begin_anew(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *parent = make_restored(rig);
	struct microagent_session *children[2] = {0};

	setenv("STANDIN_MACHINE", "another", 1);
	assert_fails(microagent_session_fork(parent, &two, children, NULL, &err), ERR_CONFLICT,
		     "made with another machine");
	unsetenv("STANDIN_MACHINE");
	assert_null(children[0]);
	assert_true(runs(rig, name_of(parent)));
	assert_no_points(rig, name_of(parent), 0);
	assert_int_equal(count_names(at(rig, "sessions")), 2); /* with .locks */
}

/* --- snapshots ------------------------------------------------------------------------------- */

static void a_session_goes_back(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = make_restored(rig);
	const char *disk = at(rig, "sessions/%s/" SESSION_LAYER, session->id);
	json_auto_t *made = NULL, *list = NULL, *told = NULL;

	assert_ok(microagent_session_snapshot(session, "done", &made, &err));
	assert_string_equal(json_text(made, "name", ""), "done");
	assert_no_points(rig, name_of(session), 1);
	assert_fails(microagent_session_snapshot(session, "done", NULL, &err), ERR_CONFLICT,
		     "already");
	list = microagent_session_snapshots(session, NULL);
	assert_int_equal(json_array_size(json_object_get(list, "snapshots")), 1);
	put(disk, "what has become of it");
	assert_ok(microagent_session_restore(session, "done", &told, &err));
	assert_string_equal(json_text(json_object_get(told, "boot"), "how", ""), "restored");
	assert_string_equal(how_it_began(rig, name_of(session)), "restored");
	assert_int_equal(count_lines(rig, name_of(session), "session.restored", "snapshot", "done"),
			 1);
	/* Also for a session that does not run; and again, since it is as it was. */
	assert_ok(microagent_kill(session->agent, session->id, NULL, &err));
	assert_ok(microagent_session_restore(session, "done", NULL, &err));
	assert_true(runs(rig, name_of(session)));
	assert_ok(microagent_session_snapshot_delete(session, "done", &err));
	assert_no_points(rig, name_of(session), 0);
	assert_fails(microagent_session_snapshot_delete(session, "done", &err), ERR_NOT_FOUND,
		     "has no snapshot");
	assert_int_equal(
		count_lines(rig, name_of(session), "session.snapshot-deleted", "snapshot", "done"),
		1);
}

/* Writes that the session was given the directory, as `session share` does. */
static void record_share(const struct microagent_session *session, const char *path)
{
	struct open_workspace existing = {0};
	json_auto_t *record = NULL;
	struct error why = {0};

	assert_ok(open_workspace_named(session->agent, session->id, &existing, &why));
	record = session_record_read(&existing.ws, &why);
	json_object_set_new(
		record, "shares",
		json_pack("[{s:s, s:s, s:s}]", "path", path, "mountpoint", "/given", "mode", "ro"));
	assert_ok(workspace_write_accepted(&existing.ws, SESSION_RECORD, record, STORE_NO_SYNC,
					   &why));
	open_workspace_close(&existing);
}

/* The stand-in gives no directory to a machine that runs. */
static void its_directories_are_given_again(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = make_restored(rig);
	char path[] =
		"/tmp/microagent-given-XXXXXX"; /* what is in the state directory is not shared */
	json_auto_t *told = NULL;

	assert_non_null(mkdtemp(path));
	assert_int_equal(rmdir(path), 0);
	assert_ok(microagent_session_check_shares(session, &err));
	assert_ok(microagent_session_share_again(session, &err));
	assert_ok(microagent_session_snapshot(session, "done", NULL, &err));
	record_share(session, path);
	/* A cause that is known before: nothing has happened. */
	assert_fails(microagent_session_check_shares(session, &err), ERR_NOT_FOUND, path);
	assert_fails(microagent_session_restore(session, "done", NULL, &err), ERR_NOT_FOUND,
		     "does not exist");
	assert_int_equal(count_lines(rig, name_of(session), "session.restored", "snapshot", "done"),
			 0);
	assert_true(runs(rig, name_of(session)));
	assert_no_points(rig, name_of(session), 1);
	/* A failure after that: the machine goes on, and the message says so. */
	assert_int_equal(mkdir(path, 0700), 0);
	assert_ok(microagent_session_check_shares(session, &err));
	assert_ok(microagent_session_restore(session, "done", &told, &err));
	assert_non_null(json_object_get(told, "unshared"));
	assert_true(runs(rig, name_of(session)));
	assert_int_equal(count_lines(rig, name_of(session), "share.missing", "path", path), 1);
	/* A machine that must have its directories ends instead. */
	assert_ok(microagent_kill(session->agent, session->id, NULL, &err));
	assert_fails(microagent_session_boot(session, &err), err.code, "");
	assert_false(runs(rig, name_of(session)));
	assert_int_equal(rmdir(path), 0);
}

static void what_cannot_be_gone_back_to(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = make_restored(rig);
	const char *disk = at(rig, "sessions/%s/points/done/disk.qcow2", session->id);
	json_auto_t *told = NULL, *list = NULL;

	assert_fails(microagent_session_snapshot(session, "../x", NULL, &err), ERR_INVALID,
		     "cannot be a snapshot's name");
	assert_fails(microagent_session_restore(session, "none", NULL, &err), ERR_NOT_FOUND,
		     "has no snapshot");
	assert_ok(microagent_session_snapshot(session, "done", NULL, &err));
	/* On another host the machine is another one: it is booted, and says so. */
	setenv("STANDIN_MACHINE", "another", 1);
	assert_ok(microagent_session_restore(session, "done", &told, &err));
	unsetenv("STANDIN_MACHINE");
	assert_string_equal(json_text(json_object_get(told, "boot"), "how", ""), "cold");
	assert_fails(microagent_session_snapshot(session, "again", NULL, &err), ERR_CONFLICT,
		     "was booted");
	/* Damaged: nothing has happened. */
	chmod(disk, 0600);
	put(disk, "not what was saved");
	assert_fails(microagent_session_restore(session, "done", NULL, &err), ERR_CONFLICT,
		     "is not what was saved");
	assert_true(runs(rig, name_of(session)));
	put(at(rig, "sessions/%s/points/done/template.json", session->id), "{}");
	assert_fails(microagent_session_restore(session, "done", NULL, &err), ERR_IO, "done");
	list = microagent_session_snapshots(session, NULL);
	assert_non_null(
		json_object_get(json_array_get(json_object_get(list, "snapshots"), 0), "error"));
	assert_ok(microagent_session_snapshot_delete(session, "done", &err));
	assert_no_points(rig, name_of(session), 0);
}

static void commands_that_are_none(void **state)
{
	static const char *const words[] = {"true", NULL}, *const none[] = {NULL};
	const struct microagent_terminal terminal = {.resized = -1};
	const struct {
		struct microagent_exec command;
		const char *why;
	} rows[] = {
		{{.command = none}, "is empty"},
		{{.command = NULL}, "is empty"},
		{{.command = words, .terminal = &terminal}, "cannot have a terminal"},
		{{.command = words, .resume_seconds = 1}, "cannot be resumed"},
		{{.command = words, .timeout_seconds = -1}, "can be at most"},
		{{.command = words, .timeout_seconds = INT64_C(1) << 40}, "can be at most"},
	};
	struct rig *rig = *state;
	auto_session struct microagent_session *session = make_restored(rig);
	struct microagent_session *child = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct microagent_fork_spec spec = {.count = 1, .on_fork = &rows[i].command};

		assert_fails(microagent_session_fork(session, &spec, &child, NULL, &err),
			     ERR_INVALID, rows[i].why);
		assert_null(child);
	}
	assert_no_points(rig, name_of(session), 0);
}

static void snapshots_count_against_the_quota(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = make_restored(rig);
	const char *record = at(rig, "sessions/%s/session.json", session->id);
	json_t *small = get_json(record);

	json_object_set_new(small, "quotaBytes", json_integer(4096));
	put_json(record, small);
	assert_fails(microagent_session_snapshot(session, "done", NULL, &err), ERR_CONFLICT,
		     "but the session's quota is 0 MiB");
	assert_no_points(rig, name_of(session), 0);
	assert_true(runs(rig, name_of(session)));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		template_test(children_go_on_from_where_it_is),
		template_test(what_cannot_be_forked),
		template_test(a_child_that_would_begin_anew),
		template_test(a_session_goes_back),
		template_test(its_directories_are_given_again),
		template_test(what_cannot_be_gone_back_to),
		template_test(commands_that_are_none),
		template_test(snapshots_count_against_the_quota),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code
			 : cmocka_run_group_tests_name("forks and snapshots", tests, NULL, NULL);
}
