/* SPDX-License-Identifier: MIT */
/* Kills the makers and the ends of bases, sessions and pools at each of their steps. Afterwards
 * everything is whole or gone. */
#include "session_killing.h"

#define STEPS_MOST 1000

static int said(int status, const struct error *err)
{
	if (status < 0)
		fprintf(stderr, "%s\n", err->msg);
	return status < 0;
}

/* After this nothing is left to do. */
static json_t *gc_twice(const struct rig *rig)
{
	struct error err = {0};
	json_t *done = microagent_session_gc(rig->agent, &err);
	json_auto_t *again = done ? microagent_session_gc(rig->agent, &err) : NULL;

	if (!again)
		fail_msg("%s", err.msg);
	assert_null(json_object_get(done, "left"));
	assert_int_equal(json_array_size(json_object_get(again, "removed")), 0);
	assert_int_equal(json_array_size(json_object_get(again, "adopted")), 0);
	assert_null(json_object_get(again, "left"));
	return done;
}

static void assert_no_marks(const struct rig *rig)
{
	assert_false(is_there(at(rig, "sessions/.locks/.making")));
	assert_false(is_there(at(rig, "sessions/.locks/.gone")));
}

/* The locks of its commands go with a session too; the time of the next end stays. */
static void assert_no_sessions(const struct rig *rig)
{
	assert_true(count_names(at(rig, "sessions/.locks")) <=
		    (int)is_there(at(rig, "sessions/.locks/.ends")));
	assert_true(count_names(at(rig, "sessions")) <= 1);
}

/* --- bases ----------------------------------------------------------------------------------- */

static int create_base(const struct rig *rig, void *data)
{
	struct error err = {0};

	return said(make_base(rig, data, &err), &err);
}

static void a_base_in_the_making(void **state)
{
	struct rig *rig = *state;
	int step = 0;
	bool killed = true;

	while (killed) {
		bool whole;

		killed = killed_at(rig, ++step, create_base, (char[]){"web"});
		whole = is_there(at(rig, "bases/web-v1.bundle"));
		bases_sweep(rig->agent, NULL);
		assert_int_equal(is_there(at(rig, "bases/web-v1.bundle")), whole);
		assert_true(whole || count_names(at(rig, "bases")) <= 0);
		if (whole) {
			json_auto_t *checks = microagent_base_verify(rig->agent, "web-v1", NULL);

			assert_true(json_is_true(json_object_get(checks, "ok")));
			assert_int_equal(count_names(at(rig, "bases")), 1);
			assert_ok(microagent_base_delete(rig->agent, "web-v1", &err));
		}
		assert_true(killed || whole);
	}
	assert_in_range(step, 8, STEPS_MOST);
}

static int delete_base(const struct rig *rig, void *data)
{
	struct error err = {0};

	return said(microagent_base_delete(rig->agent, data, &err), &err);
}

static void a_base_that_is_deleted(void **state)
{
	struct rig *rig = *state;
	int step = 0;
	bool killed = true;

	while (killed) {
		bool whole;

		assert_ok(make_base(rig, "web", &err));
		killed = killed_at(rig, ++step, delete_base, (char[]){"web-v1"});
		whole = is_there(at(rig, "bases/web-v1.bundle"));
		if (whole)
			assert_int_equal(count_names(at(rig, "bases/web-v1.bundle")), 3);
		assert_true(!whole || killed);
		bases_sweep(rig->agent, NULL);
		if (whole)
			assert_ok(microagent_base_delete(rig->agent, "web-v1", &err));
		assert_int_equal(count_names(at(rig, "bases")), 0);
	}
	assert_in_range(step, 6, STEPS_MOST);
}

/* --- sessions -------------------------------------------------------------------------------- */

static int clone_session(const struct rig *rig, void *data)
{
	struct microagent_session *session = NULL;
	struct error err = {0};
	int status = microagent_session_clone_base(rig->agent, &plain, &session, &err);

	(void)data;
	microagent_session_close(session);
	return said(status, &err);
}

/* Finds one that exists. Returns false if there is none. */
static bool find_session(const struct rig *rig, char out[SESSION_NAME_ROOM])
{
	autodir DIR *entries = opendir(at(rig, "sessions"));
	const struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (session_name_of_id(entry->d_name, out))
			return true;
	return false;
}

static void a_session_in_the_making(void **state)
{
	struct rig *rig = *state;
	bool killed = true;
	int step = 0, whole = 0;

	while (killed) {
		char name[SESSION_NAME_ROOM];

		killed = killed_at(rig, ++step, clone_session, NULL);
		sessions_sweep(rig->agent, NULL, NULL);
		assert_no_marks(rig);
		if (find_session(rig, name)) {
			auto_session struct microagent_session *session = NULL;

			whole++;
			assert_ok(microagent_session_open(rig->agent, name, &session, &err));
			assert_ok(microagent_session_destroy(session, &err));
		}
		assert_no_sessions(rig);
	}
	assert_in_range(step, 20, STEPS_MOST);
	assert_in_range(whole, 1, step - 1);
}

static int destroy(const struct rig *rig, void *data)
{
	struct error err = {0};

	return said(microagent_session_destroy_named(rig->agent, data, &err), &err);
}

/* Requires that its archive is there once, whole and closed. */
static void assert_archived(const struct rig *rig, const char *name)
{
	autobuf struct buf log = BUF_INIT(1 << 20);
	static const char *const once[] = {"\"audit.opened\"", "\"session.destroyed\"",
					   "\"audit.closed\""};

	assert_false(is_there(bundle(rig, name)));
	assert_int_equal(count_names(at(rig, "archive/%s", name)), 3);
	assert_int_equal(count_names(at(rig, "archive")), 1);
	assert_ok(path_read_file_at(AT_FDCWD, at(rig, "archive/%s/audit.log", name), &log, &err));
	for (size_t i = 0; i < ARRAY_SIZE(once); i++) {
		const char *found = strstr(buf_string(&log), once[i]);

		assert_non_null(found);
		assert_null(strstr(found + 1, once[i]));
	}
	assert_no_sessions(rig);
}

static void a_session_that_is_destroyed(void **state)
{
	struct rig *rig = *state;
	bool killed = true;
	int step = 0;

	while (killed) {
		char name[SESSION_NAME_ROOM];

		snprintf(name, sizeof(name), "%s", clone_one(rig));
		killed = killed_at(rig, ++step, destroy, name);
		/* Under its name a bundle is whole. */
		if (is_there(bundle(rig, name))) {
			assert_true(killed);
			assert_true(is_there(at(rig, "sessions/%s.bundle/session.json", name)));
			assert_true(is_there(at(rig, "sessions/%s.bundle/workspace.json", name)));
			assert_true(is_there(at(rig, "sessions/%s.bundle/audit.log", name)));
		}
		if (step % 2)
			(void)microagent_session_destroy_named(rig->agent, name, NULL);
		json_decref(gc_twice(rig));
		if (is_there(bundle(rig, name))) /* it was killed before it began */
			assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
		assert_archived(rig, name);
		assert_ok(path_remove_tree_at(AT_FDCWD, at(rig, "archive"), &err));
	}
	assert_in_range(step, 20, STEPS_MOST);
}

/* --- pools ----------------------------------------------------------------------------------- */

static int create(const struct rig *rig, void *data)
{
	struct microagent_session *session = NULL;
	struct error err = {0};
	int status = microagent_session_create(rig->agent, &plain, &session, &err);

	(void)data;
	microagent_session_close(session);
	return said(status, &err);
}

/* A claimer that is killed leaves the member to the next one, or has it, or the member goes. */
static void a_member_that_is_claimed(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	int step = 0, kept = 0, gone = 0;
	autoclose int filler = -1;
	bool killed = true;

	keep_pool(rig, 1);
	assert_ok(pool_open(rig->state, "web-v1", &pool, &err));
	filler = pool_filler_lock(&pool, NULL); /* so that nobody sees a gap */
	while (killed) {
		char name[SESSION_NAME_ROOM];

		snprintf(name, sizeof(name), "%s", make_member(rig));
		killed = killed_at(rig, ++step, create, NULL);
		json_decref(gc_twice(rig));
		assert_no_marks(rig);
		assert_false(is_there(at(rig, "sessions/%s.bundle/.making", name)));
		if (is_there(token(rig, POOL_READY, name)))
			kept++;
		else if (!is_there(token(rig, POOL_CLAIMED, name)))
			gone++;
		assert_false(is_there(token(rig, POOL_ENDING, name)));
		assert_int_equal(is_there(bundle(rig, name)),
				 is_there(token(rig, POOL_READY, name)) ||
					 is_there(token(rig, POOL_CLAIMED, name)));
		if (is_there(bundle(rig, name))) {
			assert_int_equal(pool_member_lives(rig->agent, name), 1);
			assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
		}
	}
	assert_in_range(step, 6, STEPS_MOST);
	assert_in_range(kept, 1, step - 2);
	assert_in_range(gone, 1, step - 2);
}

static int drain(const struct rig *rig, void *data)
{
	struct error err = {0};

	(void)data;
	return said(microagent_pool_drain(rig->agent, "web", &err), &err);
}

static void a_pool_that_is_drained(void **state)
{
	struct rig *rig = *state;
	bool killed = true;
	int step = 0;

	/* The steps of the members' own ends are tested above. */
	for (; killed; step += step < 10 ? 1 : 7) {
		char name[SESSION_NAME_ROOM];

		keep_pool(rig, 1);
		snprintf(name, sizeof(name), "%s", clone_one(rig));
		touch(token(rig, POOL_READY, name));
		killed = killed_at(rig, step + 1, drain, NULL);
		if (is_there(at(rig, "pool/web-v1/pool.json")))
			assert_ok(microagent_pool_drain(rig->agent, "web", &err));
		json_decref(gc_twice(rig));
		assert_false(is_there(at(rig, "pool/web-v1")));
		assert_no_sessions(rig);
	}
	assert_in_range(step, 10, STEPS_MOST);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		rig_test(a_base_in_the_making),	     rig_test(a_base_that_is_deleted),
		base_test(a_session_in_the_making),  base_test(a_session_that_is_destroyed),
		base_test(a_member_that_is_claimed), base_test(a_pool_that_is_drained),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("session kills", tests, NULL, NULL);
}
