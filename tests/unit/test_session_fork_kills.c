/* SPDX-License-Identifier: MIT */
/* Kills a fork, a snapshot, a restore and the end of a snapshot at each of their steps. The session
 * is there, and what was made of it is whole or gone. */
#include "session_killing.h"
#include "session_restored.h"

#define STEPS_MOST 2000

static int said(int status, const struct error *err)
{
	if (status < 0)
		fprintf(stderr, "%s\n", err->msg);
	return status < 0;
}

static struct microagent_session *open_again(const struct rig *rig, const char *name)
{
	struct microagent_session *session = NULL;

	assert_ok(microagent_session_open(rig->agent, name, &session, &err));
	return session;
}

/* Requires that it and its points are whole, after what was left has been removed. */
static void gc(const struct rig *rig)
{
	struct error err = {0};
	json_auto_t *done = microagent_session_gc(rig->agent, &err);
	json_auto_t *again = done ? microagent_session_gc(rig->agent, &err) : NULL;

	if (!again)
		fail_msg("%s", err.msg);
	assert_null(json_object_get(done, "left"));
	assert_int_equal(json_array_size(json_object_get(again, "removed")), 0);
}

static int count_points(const struct rig *rig, const char *name)
{
	int count = count_names(at(rig, "sessions/%s.bundle/points", name));

	assert_false(is_there(at(rig, "sessions/%s.bundle/fork.state", name)));
	assert_false(is_there(at(rig, "sessions/%s.bundle/fork.disk", name)));
	return count < 0 ? 0 : count;
}

static bool runs(const struct rig *rig, const char *name)
{
	json_auto_t *event = get_json(at(rig, "sessions/%s.bundle/event.json", name));

	return strcmp(json_text(event, "state", ""), "running") == 0;
}

/* Finds a session that is whole and not the parent. Returns false if there is none. */
static bool find_child(const struct rig *rig, const char *parent, char out[SESSION_NAME_ROOM])
{
	autodir DIR *entries = opendir(at(rig, "sessions"));
	const struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (session_name_of_id(entry->d_name, out) && strcmp(out, parent) != 0)
			return true;
	return false;
}

/* --- fork ------------------------------------------------------------------------------------ */

static int fork_session(const struct rig *rig, void *data)
{
	const struct microagent_fork_spec one = {.count = 1};
	auto_session struct microagent_session *parent = open_again(rig, data), *child = NULL;
	struct error err = {0};

	return said(microagent_session_fork(parent, &one, &child, NULL, &err), &err);
}

static void a_fork(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *parent = make_restored(rig);
	char name[SESSION_NAME_ROOM], child[SESSION_NAME_ROOM];
	bool killed = true;
	int step = 0;

	snprintf(name, sizeof(name), "%s", microagent_session_name(parent));
	while (killed) {
		bool whole;

		killed = killed_at(rig, ++step, fork_session, name);
		gc(rig);
		assert_true(runs(rig, name));
		assert_int_equal(count_points(rig, name), 0);
		whole = find_child(rig, name, child);
		assert_true(killed || whole);
		if (whole) {
			assert_true(runs(rig, child));
			assert_ok(microagent_session_destroy_named(rig->agent, child, &err));
		}
	}
	assert_in_range(step, 30, STEPS_MOST);
}

/* --- snapshots ------------------------------------------------------------------------------- */

static int snapshot_session(const struct rig *rig, void *data)
{
	auto_session struct microagent_session *session = open_again(rig, data);
	struct error err = {0};

	return said(microagent_session_snapshot(session, "done", NULL, &err), &err);
}

static void a_snapshot(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = make_restored(rig);
	char name[SESSION_NAME_ROOM];
	bool killed = true;
	int step = 0;

	snprintf(name, sizeof(name), "%s", microagent_session_name(session));
	while (killed) {
		int count;

		killed = killed_at(rig, ++step, snapshot_session, name);
		gc(rig);
		assert_true(runs(rig, name));
		count = count_points(rig, name);
		assert_true(killed || count == 1);
		if (count) {
			assert_ok(microagent_session_restore(session, "done", NULL, &err));
			assert_ok(microagent_session_snapshot_delete(session, "done", &err));
		}
	}
	assert_in_range(step, 10, STEPS_MOST);
}

static int restore_session(const struct rig *rig, void *data)
{
	auto_session struct microagent_session *session = open_again(rig, data);
	struct error err = {0};

	return said(microagent_session_restore(session, "done", NULL, &err), &err);
}

/* Whatever it is by then, the next restore brings it back. */
static void the_way_back(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = make_restored(rig);
	char name[SESSION_NAME_ROOM];
	bool killed = true;
	int step = 0;

	snprintf(name, sizeof(name), "%s", microagent_session_name(session));
	assert_ok(microagent_session_snapshot(session, "done", NULL, &err));
	while (killed) {
		json_auto_t *told = NULL;

		killed = killed_at(rig, ++step, restore_session, name);
		gc(rig);
		assert_int_equal(count_points(rig, name), 1);
		assert_true(killed || runs(rig, name));
		assert_ok(microagent_session_restore(session, "done", &told, &err));
		assert_string_equal(json_text(json_object_get(told, "boot"), "how", ""),
				    "restored");
		assert_true(runs(rig, name));
	}
	assert_in_range(step, 10, STEPS_MOST);
}

static int delete_snapshot(const struct rig *rig, void *data)
{
	auto_session struct microagent_session *session = open_again(rig, data);
	struct error err = {0};

	return said(microagent_session_snapshot_delete(session, "done", &err), &err);
}

static void the_end_of_a_snapshot(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = make_restored(rig);
	char name[SESSION_NAME_ROOM];
	bool killed = true;
	int step = 0;

	snprintf(name, sizeof(name), "%s", microagent_session_name(session));
	while (killed) {
		if (count_points(rig, name) == 0)
			assert_ok(microagent_session_snapshot(session, "done", NULL, &err));
		killed = killed_at(rig, ++step, delete_snapshot, name);
		gc(rig);
		if (count_points(rig, name) == 1)
			assert_ok(microagent_session_restore(session, "done", NULL, &err));
		else
			assert_int_equal(count_points(rig, name), 0);
		assert_true(killed || count_points(rig, name) == 0);
	}
	assert_in_range(step, 4, STEPS_MOST);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		template_test(a_fork),
		template_test(a_snapshot),
		template_test(the_way_back),
		template_test(the_end_of_a_snapshot),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code
			 : cmocka_run_group_tests_name("forks that are killed", tests, NULL, NULL);
}
