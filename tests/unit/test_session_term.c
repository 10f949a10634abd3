/* SPDX-License-Identifier: MIT */
/* Tests the end that a session was given, if nothing of it lives. */
#include "base/clock.h"
#include "session_fixture.h"

#define HOUR (INT64_C(3600) * 1000000000)

static const char *clone_with(const struct rig *rig, int64_t lifetime, int64_t idle)
{
	struct microagent_session_spec spec = plain;
	auto_session struct microagent_session *session = NULL;
	static char name[SESSION_NAME_ROOM];

	spec.lifetime_seconds = lifetime;
	spec.idle_seconds = idle;
	assert_ok(microagent_session_clone_base(rig->agent, &spec, &session, &err));
	snprintf(name, sizeof(name), "%s", microagent_session_name(session));
	return name;
}

/* Lets so much time pass, by changing the record. */
static void turn_back(const struct rig *rig, const char *name, const char *file, const char *key,
		      int64_t ns)
{
	const char *path = at(rig, "sessions/%s.bundle/%s", name, file);
	char text[CLOCK_TEXT];
	json_t *document = get_json(path);

	clock_rfc3339(clock_real_ns() - ns, text);
	json_object_set_new(document, key, json_string(text));
	put_json(path, document);
	/* Accepts a record that no command has written. */
	(void)unlink(at(rig, "sessions/.locks/.session-%s.bundle", name));
}

static void assert_swept(const struct rig *rig, const char *name, const char *why)
{
	json_auto_t *gc = NULL;

	gc = microagent_session_gc(rig->agent, NULL);
	const json_t *removed = json_array_get(json_object_get(gc, "removed"), 0);

	assert_string_equal(json_text(removed, "name", ""), name);
	assert_string_equal(json_text(removed, "why", ""), why);
	assert_false(is_there(bundle(rig, name)));
	assert_true(is_there(at(rig, "archive/%s/audit.log", name)));
}

static void assert_kept(const struct rig *rig, const char *name)
{
	json_auto_t *gc = microagent_session_gc(rig->agent, NULL);
	auto_session struct microagent_session *session = NULL;

	assert_int_equal(json_array_size(json_object_get(gc, "removed")), 0);
	assert_ok(microagent_session_open(rig->agent, name, &session, &err));
}

static void one_without_an_end(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_with(rig, 0, 0);

	turn_back(rig, name, "session.json", "createdAt", 1000 * HOUR);
	turn_back(rig, name, "event.json", "observedAt", 1000 * HOUR);
	assert_kept(rig, name);
}

static void a_lifetime_that_has_not_begun(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_with(rig, 7200, 0);

	turn_back(rig, name, "session.json", "createdAt", HOUR);
	assert_kept(rig, name);
	turn_back(rig, name, "session.json", "createdAt", 2 * HOUR);
	assert_swept(rig, name, "its lifetime of 2h is over");
}

static void a_lifetime_that_is_over(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_with(rig, 90, 0);

	turn_back(rig, name, "session.json", "endsAt", -HOUR);
	assert_kept(rig, name);
	turn_back(rig, name, "session.json", "endsAt", 1);
	assert_swept(rig, name, "its lifetime of 90s is over");
}

static void one_that_nobody_uses(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_with(rig, 0, 1800);

	turn_back(rig, name, "event.json", "observedAt", HOUR / 4);
	assert_kept(rig, name);
	turn_back(rig, name, "event.json", "observedAt", HOUR / 2);
	assert_swept(rig, name, "nobody has used it for 30m");
}

/* The first command that meets it destroys it. */
static void nobody_works_in_one_that_is_over(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_with(rig, 86400, 0);
	struct microagent_session *session = NULL;
	json_auto_t *list = NULL;

	turn_back(rig, name, "session.json", "endsAt", 1);
	list = microagent_session_list(rig->agent, NULL);
	const json_t *told = json_array_get(json_object_get(list, "sessions"), 0);

	assert_string_equal(json_text(told, "detail", ""),
			    "its lifetime of 1d is over: it is to be destroyed");
	assert_string_equal(json_text(told, "reason", ""), "session-over");
	assert_fails(microagent_session_open(rig->agent, name, &session, &err), ERR_NOT_FOUND,
		     "is destroyed: its lifetime of 1d is over");
	assert_false(is_there(bundle(rig, name)));
}

static void one_in_quarantine_is_kept(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_with(rig, 60, 60);
	json_t *event = get_json(at(rig, "sessions/%s.bundle/event.json", name));

	json_object_set_new(event, "state", json_string("quarantined"));
	put_json(at(rig, "sessions/%s.bundle/event.json", name), event);
	turn_back(rig, name, "session.json", "endsAt", HOUR);
	assert_kept(rig, name);
}

/* --- sweeps that were not asked for ------------------------------------------------------------
 */

static void set_next(const struct rig *rig, int64_t ns)
{
	int64_t at_ns = clock_real_ns() + ns;
	const struct timespec times[] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000}};

	touch(at(rig, "sessions/.locks/.ends"));
	assert_int_equal(utimensat(AT_FDCWD, at(rig, "sessions/.locks/.ends"), times, 0), 0);
}

static int64_t next_in(const struct rig *rig)
{
	struct stat st;

	assert_int_equal(stat(at(rig, "sessions/.locks/.ends"), &st), 0);
	return st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec - clock_real_ns();
}

/* Sessions that cannot be over are not opened by a command that makes another one. */
static void a_sweep_before_the_first_end_looks_at_none(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_with(rig, 90, 0);

	turn_back(rig, name, "session.json", "endsAt", 1);
	set_next(rig, HOUR);
	(void)clone_one(rig);
	assert_true(is_there(bundle(rig, name)));
	assert_true(next_in(rig) > HOUR / 2);
	set_next(rig, -1);
	(void)clone_one(rig);
	assert_false(is_there(bundle(rig, name)));
	/* The next look sees whether that worked. */
	set_next(rig, -1);
	(void)clone_one(rig);
	assert_true(next_in(rig) > 12 * HOUR);
}

static void a_sweep_that_knows_no_first_end_looks_at_all(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_with(rig, 90, 0);

	turn_back(rig, name, "session.json", "endsAt", 1);
	(void)clone_one(rig);
	assert_false(is_there(bundle(rig, name)));
	name = clone_with(rig, 90, 0);
	turn_back(rig, name, "session.json", "endsAt", 1);
	/* The clock was set back. */
	set_next(rig, 48 * HOUR);
	(void)clone_one(rig);
	assert_false(is_there(bundle(rig, name)));
}

static void whoever_gives_an_end_brings_the_look_forward(void **state)
{
	struct rig *rig = *state;

	(void)clone_one(rig);
	set_next(rig, HOUR);
	(void)clone_with(rig, 7200, 0);
	assert_true(next_in(rig) > HOUR / 2);
	(void)clone_with(rig, 7200, 600);
	assert_true(next_in(rig) < HOUR / 4);
	(void)clone_with(rig, 90, 0);
	assert_true(next_in(rig) < HOUR / 30);
}

/* If its machine runs it is left alone, and looked at again. */
static void one_that_is_not_over_is_looked_at_again(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_with(rig, 0, 1800);

	set_next(rig, -1);
	(void)clone_one(rig);
	assert_true(is_there(bundle(rig, name)));
	assert_true(next_in(rig) <= 60 * INT64_C(1000000000));
}

static void what_no_end_is(void **state)
{
	static const int64_t wrong[] = {-1, TERM_MAX_S + 1, INT64_MIN, INT64_MAX};
	struct rig *rig = *state;
	struct microagent_session *session = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct microagent_session_spec spec = plain;

		spec.lifetime_seconds = wrong[i];
		assert_fails(microagent_session_create(rig->agent, &spec, &session, &err),
			     ERR_INVALID, "the lifetime of a session must be between");
		spec.lifetime_seconds = 0;
		spec.idle_seconds = wrong[i];
		assert_fails(microagent_session_create(rig->agent, &spec, &session, &err),
			     ERR_INVALID, "the idle time of a session must be between");
	}
	assert_false(is_there(at(rig, "sessions")));
}

static void a_claimed_one_has_its_end(void **state)
{
	struct rig *rig = *state;
	struct microagent_session_spec spec = plain;
	auto_session struct microagent_session *session = NULL;
	const char *name, *ends;

	keep_pool(rig, 1);
	name = make_member(rig);
	spec.lifetime_seconds = 7200;
	spec.idle_seconds = 60;
	assert_ok(microagent_session_create(rig->agent, &spec, &session, &err));
	assert_string_equal(microagent_session_name(session), name);
	ends = json_text(session->record, "endsAt", "");
	assert_true(clock_of_rfc3339(ends) > clock_real_ns() + HOUR);
	assert_int_equal(json_integer_value(json_object_get(session->record, "idleSeconds")), 60);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		base_test(one_without_an_end),
		base_test(a_lifetime_that_has_not_begun),
		base_test(a_lifetime_that_is_over),
		base_test(one_that_nobody_uses),
		base_test(nobody_works_in_one_that_is_over),
		base_test(one_in_quarantine_is_kept),
		base_test(a_sweep_before_the_first_end_looks_at_none),
		base_test(a_sweep_that_knows_no_first_end_looks_at_all),
		base_test(whoever_gives_an_end_brings_the_look_forward),
		base_test(one_that_is_not_over_is_looked_at_again),
		base_test(what_no_end_is),
		base_test(a_claimed_one_has_its_end),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("session ends", tests, NULL, NULL);
}
