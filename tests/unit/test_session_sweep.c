/* SPDX-License-Identifier: MIT */
/* Tests the rest of killed makers and destroyers of sessions: it is swept, unless a process works
 * on it just now. */
#include "session_fixture.h"

#define GHOST "session-2026-05-10T14-22-00Z-0001"
#define MADE "its creation was interrupted"
#define ENDED "its destruction was interrupted"

struct swept {
	json_t *removed, *left;
};

static struct swept sweep(const struct rig *rig)
{
	struct swept swept = {json_array(), json_array()};

	sessions_sweep(rig->agent, swept.removed, swept.left);
	return swept;
}

static void swept_free(struct swept *swept)
{
	json_decref(swept->removed);
	json_decref(swept->left);
}
#define auto_swept __attribute__((cleanup(swept_free)))

static void assert_nothing(const struct swept *swept)
{
	assert_int_equal(json_array_size(swept->removed), 0);
	assert_int_equal(json_array_size(swept->left), 0);
}

static void assert_removed(const struct swept *swept, const char *name, const char *why)
{
	assert_int_equal(json_array_size(swept->left), 0);
	assert_int_equal(json_array_size(swept->removed), 1);
	assert_string_equal(why_of(swept->removed, name), why);
}

static char *ending_of(const struct rig *rig, const char *name)
{
	return strdup(at(rig, "sessions/.locks/.making/%s.bundle.end", name));
}

/* Returns how often a session's audit log, archived or not, reports an orphan in these words. */
static int count_told(const struct rig *rig, const char *name, const char *text)
{
	int count = 0;

	for (int i = 0; i < 2; i++) {
		autobuf struct buf log = BUF_INIT(1 << 20);
		char path[512];

		snprintf(path, sizeof(path),
			 i ? "%s/sessions/%s.bundle/audit.log" : "%s/archive/%s/audit.log",
			 rig->state, name);
		if (path_read_file_at(AT_FDCWD, path, &log, NULL) < 0)
			continue;
		for (const char *p = buf_string(&log); (p = strstr(p, text)); p++)
			count++;
	}
	return count;
}

/* --- nothing --------------------------------------------------------------------------------- */

static void where_nothing_is_nothing_is_made(void **state)
{
	struct rig *rig = *state;
	auto_swept struct swept swept = sweep(rig);

	assert_nothing(&swept);
	assert_false(is_there(at(rig, "sessions")));
}

static void a_whole_session_is_left_alone(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	auto_swept struct swept swept = sweep(rig);

	assert_nothing(&swept);
	assert_true(is_there(at(rig, "sessions/%s.bundle/session.json", name)));
	assert_false(is_there(at(rig, "sessions/.locks/.making")));
}

/* --- half made ------------------------------------------------------------------------------- */

static void a_half_made_session_goes(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	half_make(rig, name);
	auto_swept struct swept swept = sweep(rig);
	assert_removed(&swept, name, MADE);
	assert_false(is_there(bundle(rig, name)));
	assert_false(is_there(at(rig, "sessions/.locks/.making")));
	assert_int_equal(count_told(rig, name, "\"half-made\""), 1);
	auto_swept struct swept again = sweep(rig);
	assert_nothing(&again);
}

static void what_is_being_made_stays(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	autoclose int mark = -1;

	half_make(rig, name);
	mark = locked(mark_of(rig, name), LOCK_EX);
	auto_swept struct swept swept = sweep(rig);
	assert_nothing(&swept);
	assert_true(is_there(at(rig, "sessions/%s.bundle/.making", name)));
	assert_true(is_there(mark_of(rig, name)));
}

/* Its maker has come as far as the directory. */
static void a_bare_directory_goes(void **state)
{
	struct rig *rig = *state;

	half_make(rig, GHOST);
	touch(at(rig, "sessions/" GHOST ".bundle/rootfs.qcow2"));
	chmod(at(rig, "sessions"), 0700);
	auto_swept struct swept swept = sweep(rig);
	assert_removed(&swept, GHOST, MADE);
	assert_false(is_there(bundle(rig, GHOST)));
	assert_false(is_there(mark_of(rig, GHOST)));
}

/* Its maker found the name taken. */
static void what_somebody_else_has_put_there_stays(void **state)
{
	struct rig *rig = *state;

	touch(mark_of(rig, GHOST));
	touch(at(rig, "sessions/" GHOST ".bundle/notes"));
	auto_swept struct swept swept = sweep(rig);
	assert_nothing(&swept);
	assert_true(is_there(at(rig, "sessions/" GHOST ".bundle/notes")));
	assert_false(is_there(mark_of(rig, GHOST)));
}

static void a_mark_before_its_directory_goes(void **state)
{
	struct rig *rig = *state;

	touch(mark_of(rig, GHOST));
	auto_swept struct swept swept = sweep(rig);
	assert_nothing(&swept);
	assert_false(is_there(mark_of(rig, GHOST)));
}

/* A claimer that found the session taken by another one. */
static void a_mark_without_its_second_is_nobodys(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	touch(mark_of(rig, name));
	auto_swept struct swept swept = sweep(rig);
	assert_nothing(&swept);
	assert_true(is_there(at(rig, "sessions/%s.bundle/session.json", name)));
	assert_false(is_there(mark_of(rig, name)));
}

static void a_link_is_nothing_that_was_made(void **state)
{
	struct rig *rig = *state;

	touch(at(rig, "elsewhere/.making"));
	touch(at(rig, "elsewhere/session.json"));
	touch(mark_of(rig, GHOST));
	assert_int_equal(symlink(at(rig, "elsewhere"), bundle(rig, GHOST)), 0);
	auto_swept struct swept swept = sweep(rig);
	assert_nothing(&swept);
	assert_int_equal(count_names(at(rig, "elsewhere")), 2);
	assert_true(is_there(bundle(rig, GHOST)));
}

static void what_is_no_session_has_marks_too(void **state)
{
	struct rig *rig = *state;

	touch(at(rig, "sessions/.locks/.making/notes"));
	touch(at(rig, "sessions/notes/.making"));
	touch(at(rig, "sessions/.locks/.making/other"));
	touch(at(rig, "sessions/other/text"));
	auto_swept struct swept swept = sweep(rig);
	assert_nothing(&swept);
	assert_false(is_there(at(rig, "sessions/notes")));
	assert_true(is_there(at(rig, "sessions/other/text")));
	assert_false(is_there(at(rig, "sessions/.locks/.making")));
}

/* --- members --------------------------------------------------------------------------------- */

static void a_member_that_waits_stays(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	half_make(rig, name);
	make_pool(rig, "web-v1");
	touch(token(rig, POOL_READY, name));
	auto_swept struct swept swept = sweep(rig);
	assert_nothing(&swept);
	assert_true(is_there(at(rig, "sessions/%s.bundle/session.json", name)));
	assert_false(is_there(at(rig, "sessions/%s.bundle/.making", name)));
	assert_false(is_there(mark_of(rig, name)));
	assert_true(is_there(token(rig, POOL_READY, name)));
	assert_int_equal(count_told(rig, name, "\"adopted\""), 1);
}

/* Its claimer was killed before anybody knew of the claim. */
static void a_member_that_was_claimed_goes(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	half_make(rig, name);
	keep_pool(rig, 1);
	touch(token(rig, POOL_CLAIMED, name));
	auto_swept struct swept swept = sweep(rig);
	assert_removed(&swept, name, MADE);
	assert_false(is_there(bundle(rig, name)));
	assert_false(is_there(token(rig, POOL_CLAIMED, name)));
}

/* Nobody can tell whether it waits, so it may. */
static void pools_that_cannot_be_read_keep_it(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	half_make(rig, name);
	touch(at(rig, "pool"));
	auto_swept struct swept swept = sweep(rig);
	assert_int_equal(json_array_size(swept.removed), 0);
	assert_non_null(strstr(why_of(swept.left, name), "pool"));
	assert_true(is_there(at(rig, "sessions/%s.bundle/.making", name)));
	assert_true(is_there(mark_of(rig, name)));
}

/* --- half destroyed -------------------------------------------------------------------------- */

static void an_end_that_broke_off_is_gone_on_with(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	autofree char *ending = ending_of(rig, name);

	touch(ending);
	keep_pool(rig, 1);
	touch(token(rig, POOL_ENDING, name));
	auto_swept struct swept swept = sweep(rig);
	assert_removed(&swept, name, ENDED);
	assert_false(is_there(bundle(rig, name)));
	assert_false(is_there(ending));
	assert_false(is_there(token(rig, POOL_ENDING, name)));
	assert_int_equal(count_told(rig, name, "\"half-destroyed\""), 1);
	assert_true(is_there(at(rig, "archive/%s/session.json", name)));
}

static void an_end_that_somebody_is_at_is_his(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	autofree char *ending = ending_of(rig, name);
	autoclose int mark = locked(ending, LOCK_EX);
	auto_swept struct swept swept = sweep(rig);

	assert_nothing(&swept);
	assert_true(is_there(at(rig, "sessions/%s.bundle/session.json", name)));
	assert_true(is_there(ending));
}

/* It has both marks. The process that destroys it may fail, so the mark of its making stays. */
static void a_half_made_one_that_is_being_destroyed(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	autofree char *ending = ending_of(rig, name);
	int mark = locked(ending, LOCK_EX);

	half_make(rig, name);
	auto_swept struct swept swept = sweep(rig);
	assert_nothing(&swept);
	assert_true(is_there(mark_of(rig, name)));
	assert_true(is_there(at(rig, "sessions/%s.bundle/session.json", name)));
	close(mark);
	auto_swept struct swept later = sweep(rig);
	assert_int_equal(json_array_size(later.left), 0);
	assert_non_null(why_of(later.removed, name));
	assert_false(is_there(bundle(rig, name)));
}

static void a_mark_of_an_end_without_a_session(void **state)
{
	struct rig *rig = *state;
	autofree char *ending = ending_of(rig, GHOST);

	touch(ending);
	auto_swept struct swept swept = sweep(rig);
	assert_removed(&swept, GHOST, ENDED);
	assert_false(is_there(ending));
}

static void what_lost_its_name_is_emptied(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	touch(at(rig, "sessions/.locks/.gone/x"));
	unlink(at(rig, "sessions/.locks/.gone/x"));
	assert_int_equal(
		rename(bundle(rig, name), at(rig, "sessions/.locks/.gone/%s.bundle", name)), 0);
	auto_swept struct swept swept = sweep(rig);
	assert_removed(&swept, name, ENDED);
	assert_false(is_there(at(rig, "sessions/.locks/.gone")));
}

static void what_somebody_empties_is_his(void **state)
{
	struct rig *rig = *state;
	autoclose int held = -1;

	touch(at(rig, "sessions/.locks/.gone/" GHOST ".bundle/x"));
	held = locked(at(rig, "sessions/.locks/.gone/" GHOST ".bundle"), LOCK_EX);
	auto_swept struct swept swept = sweep(rig);
	assert_nothing(&swept);
	assert_true(is_there(at(rig, "sessions/.locks/.gone/" GHOST ".bundle/x")));
}

/* Returns how often the security logs have the text. */
static int count_security(const struct rig *rig, const char *text)
{
	autodir DIR *logs = opendir(at(rig, "logs"));
	const struct dirent *entry;
	int count = 0;

	assert_non_null(logs);
	while ((entry = readdir(logs))) {
		autobuf struct buf log = BUF_INIT(1 << 20);

		if (path_read_file_at(dirfd(logs), entry->d_name, &log, NULL) < 0)
			continue;
		for (const char *p = buf_string(&log); (p = strstr(p, text)); p++)
			count++;
	}
	return count;
}

/* A process in it does not end: its lease is held. */
static void what_cannot_be_removed_is_told_once(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	autofree char *ending = ending_of(rig, name);
	int lease = locked(at(rig, "sessions/%s.bundle/lease", name), LOCK_EX);

	setenv("MICROAGENT_TEST_LIMIT_KILL_MS", "20", 1);
	setenv("MICROAGENT_TEST_LIMIT_ENDING_MS", "20", 1);
	touch(ending);
	for (int i = 0; i < 2; i++) {
		auto_swept struct swept swept = sweep(rig);

		assert_int_equal(json_array_size(swept.removed), 0);
		assert_non_null(why_of(swept.left, name));
		assert_true(is_there(ending));
		assert_true(is_there(at(rig, "sessions/%s.bundle/session.json", name)));
	}
	unsetenv("MICROAGENT_TEST_LIMIT_KILL_MS");
	unsetenv("MICROAGENT_TEST_LIMIT_ENDING_MS");
	close(lease);
	auto_swept struct swept swept = sweep(rig);
	assert_removed(&swept, name, ENDED);
	/* A live supervisor writes the session's log itself, so the report goes elsewhere. */
	assert_int_equal(count_security(rig, "session.orphaned"), 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		rig_test(where_nothing_is_nothing_is_made),
		base_test(a_whole_session_is_left_alone),
		base_test(a_half_made_session_goes),
		base_test(what_is_being_made_stays),
		rig_test(a_bare_directory_goes),
		rig_test(what_somebody_else_has_put_there_stays),
		rig_test(a_mark_before_its_directory_goes),
		base_test(a_mark_without_its_second_is_nobodys),
		rig_test(a_link_is_nothing_that_was_made),
		rig_test(what_is_no_session_has_marks_too),
		base_test(a_member_that_waits_stays),
		base_test(a_member_that_was_claimed_goes),
		base_test(pools_that_cannot_be_read_keep_it),
		base_test(an_end_that_broke_off_is_gone_on_with),
		base_test(an_end_that_somebody_is_at_is_his),
		base_test(a_half_made_one_that_is_being_destroyed),
		rig_test(a_mark_of_an_end_without_a_session),
		base_test(what_lost_its_name_is_emptied),
		rig_test(what_somebody_empties_is_his),
		base_test(what_cannot_be_removed_is_told_once),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("session sweep", tests, NULL, NULL);
}
