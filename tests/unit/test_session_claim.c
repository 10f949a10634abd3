/* SPDX-License-Identifier: MIT */
/* Tests how a session is created: claimed from a pool if a member fits, or made anew. */
#include <sys/syscall.h>

#include "session_fixture.h"

/* Runs once, before the next rename of a token to ending/. */
static void (*before_end)(void);
/* The same before the next mark; and the number of times that a token was taken, or tried. */
static void (*before_mark)(void);
static int taken;

int linkat(int from, const char *path, int to, const char *name, int flags)
{
	void (*fn)(void) = before_mark;

	before_mark = NULL;
	if (fn)
		fn();
	return (int)syscall(SYS_linkat, from, path, to, name, flags);
}

int renameat(int from, const char *path, int to, const char *name)
{
	void (*fn)(void) = before_end;

	if (fn && strncmp(name, POOL_ENDING "/", strlen(POOL_ENDING "/")) == 0) {
		before_end = NULL;
		fn();
	}
	taken += strncmp(name, POOL_CLAIMED "/", strlen(POOL_CLAIMED "/")) == 0;
	return (int)syscall(SYS_renameat2, from, path, to, name, 0);
}

static struct microagent_session *create(const struct rig *rig,
					 const struct microagent_session_spec *spec)
{
	struct microagent_session *session = NULL;

	assert_ok(microagent_session_create(rig->agent, spec, &session, &err));
	return session;
}

static const char *source_of(const struct microagent_session *session)
{
	return json_text(session->record, "source", "");
}

static void assert_waits(const struct rig *rig, const char *name)
{
	assert_true(is_there(token(rig, POOL_READY, name)));
	assert_int_equal(pool_member_lives(rig->agent, name), 1);
	assert_false(is_there(mark_of(rig, name)));
	assert_false(is_there(at(rig, "sessions/%s.bundle/.making", name)));
}

static const struct rig *the_rig;
static char the_name[SESSION_NAME_ROOM];

static void claim_it(void)
{
	auto_pool struct pool pool = POOL_NONE;

	assert_ok(pool_open(the_rig->state, "web-v1", &pool, &err));
	assert_true(pool_take(&pool, the_name));
}

/* --- claimed --------------------------------------------------------------------------------- */

static void a_member_is_claimed(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = NULL;
	const char *name;

	keep_pool(rig, 1);
	name = make_member(rig);
	session = create(rig, &plain);
	assert_string_equal(microagent_session_name(session), name);
	assert_string_equal(source_of(session), SESSION_POOL);
	assert_true(session->claim_ms > 0);
	assert_true(is_there(token(rig, POOL_CLAIMED, name)));
	assert_false(is_there(token(rig, POOL_READY, name)));
	/* No sweep may take it, and the pool gets another member. */
	assert_false(is_there(mark_of(rig, name)));
	assert_false(is_there(at(rig, "sessions/%s.bundle/.making", name)));
	assert_int_equal(count_fillers(rig), 1);
}

static void claims_until_the_pool_is_empty(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *one = NULL, *two = NULL, *three = NULL;

	keep_pool(rig, 2);
	make_member(rig);
	make_member(rig);
	one = create(rig, &plain);
	two = create(rig, &plain);
	three = create(rig, &plain);
	assert_string_equal(source_of(one), SESSION_POOL);
	assert_string_equal(source_of(two), SESSION_POOL);
	assert_string_equal(source_of(three), SESSION_NEW);
	assert_string_not_equal(microagent_session_name(one), microagent_session_name(two));
	assert_int_equal(pool_member_lives(rig->agent, microagent_session_name(three)), 1);
}

static int create_one(const struct rig *rig, void *data)
{
	struct microagent_session *session = NULL;
	bool pooled;

	(void)data;
	if (microagent_session_create(rig->agent, &plain, &session, NULL) < 0)
		return 7;
	pooled = strcmp(source_of(session), SESSION_POOL) == 0;
	microagent_session_close(session);
	return pooled;
}

static void two_claimers_of_one_member(void **state)
{
	struct rig *rig = *state;
	int pooled = 0;

	keep_pool(rig, 1);
	make_member(rig);
	for (int i = 0; i < 2; i++)
		if (fork() == 0)
			_exit(create_one(rig, NULL));
	for (int i = 0; i < 2; i++) {
		int status = 0;

		while (wait(&status) > 0 && !WIFEXITED(status))
			;
		assert_true(WEXITSTATUS(status) < 2);
		pooled += WEXITSTATUS(status);
	}
	assert_int_equal(pooled, 1);
	assert_int_equal(count_names(at(rig, "pool/web-v1/claimed")), 1);
	assert_int_equal(count_names(at(rig, "sessions")), 3); /* with .locks */
}

/* --- not claimed ----------------------------------------------------------------------------- */

static void what_is_asked_for_must_fit(void **state)
{
	const struct microagent_session_spec others[] = {
		{.base = "web", .machine = {.network = "isolated", .memory_mib = 300}},
		{.base = "web", .machine = {.network = "isolated", .cpus = 2}},
		{.base = "web", .machine.network = "isolated", .no_share = true},
	};
	struct rig *rig = *state;
	const char *name;

	keep_pool(rig, 1);
	name = make_member(rig);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		auto_session struct microagent_session *session = NULL;

		if (others[i].machine.cpus > sysconf(_SC_NPROCESSORS_ONLN))
			continue;
		session = create(rig, &others[i]);
		assert_string_equal(source_of(session), SESSION_NEW);
		assert_waits(rig, name);
	}
}

/* The stand-in has no such machines, so its refusal shows that one is made. */
static void what_no_member_has_is_made(void **state)
{
	static const char *const some[] = {"8080:80", NULL}, *const hosts[] = {"example.org", NULL},
				 *const vsock[] = {"1:/tmp/x", NULL};
	const struct microagent_session_spec others[] = {
		{.base = "web"},
		{.base = "web", .machine = {.network = "isolated", .publish = some}},
		{.base = "web", .machine = {.network = "isolated", .allow = hosts}},
		{.base = "web", .machine = {.network = "isolated", .vsock = vsock}},
		{.base = "web",
		 .machine = {.network = "isolated", .mediation = "http://127.0.0.1:1"}},
		{.base = "web", .machine = {.network = "isolated", .network_interface = "eth9"}},
		{.base = "web", .machine = {.network = "isolated", .accelerator = "kvm"}},
	};
	struct rig *rig = *state;
	const char *name;

	keep_pool(rig, 1);
	name = make_member(rig);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct microagent_session *session = NULL;

		if (microagent_session_create(rig->agent, &others[i], &session, NULL) == 0)
			assert_string_equal(source_of(session), SESSION_NEW);
		microagent_session_close(session);
		assert_waits(rig, name);
	}
}

static void a_pool_that_is_not_kept_gives_nothing(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = NULL;
	const char *name = make_member(rig);

	session = create(rig, &plain);
	assert_string_equal(source_of(session), SESSION_NEW);
	assert_waits(rig, name);
	assert_int_equal(count_fillers(rig), 0);
}

/* Another claimer has it, and may die with it. */
static void a_member_that_another_marks_is_passed_over(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = NULL;
	autoclose int mark = -1;
	const char *name;

	keep_pool(rig, 1);
	name = make_member(rig);
	mark = locked(mark_of(rig, name), LOCK_EX);
	session = create(rig, &plain);
	assert_string_equal(source_of(session), SESSION_NEW);
	assert_true(is_there(token(rig, POOL_READY, name)));
	assert_true(is_there(mark_of(rig, name)));
	assert_false(is_there(at(rig, "sessions/%s.bundle/.making", name)));
}

/* Another has claimed it since the list was made: a sweep must never take it for ours. */
static void a_member_that_another_has_is_not_marked(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = NULL;

	keep_pool(rig, 1);
	snprintf(the_name, sizeof(the_name), "%s", make_member(rig));
	the_rig = rig;
	taken = 0;
	before_mark = claim_it;
	session = create(rig, &plain);
	assert_null(before_mark);
	assert_string_equal(source_of(session), SESSION_NEW);
	assert_int_equal(taken, 1);
	assert_true(is_there(token(rig, POOL_CLAIMED, the_name)));
	assert_false(is_there(mark_of(rig, the_name)));
	assert_false(is_there(at(rig, "sessions/%s.bundle/.making", the_name)));
}

/* The pool was set to another kind, and filled anew, since it was looked at. */
static void a_member_of_another_kind_is_passed_over(void **state)
{
	struct microagent_session_spec larger = plain;
	struct rig *rig = *state;
	auto_session struct microagent_session *session = NULL;
	auto_pool struct pool pool = POOL_NONE;
	const struct pool_record record = {1, 300, 1, "isolated", "qemu"};
	const char *name = make_member(rig);

	assert_ok(pool_open(rig->state, "web-v1", &pool, &err));
	assert_ok(pool_write(&pool, &record, &err));
	larger.machine.memory_mib = 300;
	session = create(rig, &larger);
	assert_string_equal(source_of(session), SESSION_NEW);
	assert_waits(rig, name);
}

static void a_pool_of_another_backend_is_passed_over(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = NULL;
	auto_pool struct pool pool = POOL_NONE;
	const struct pool_record record = {1, 256, 1, "isolated", "firecracker"};
	const char *name = make_member(rig);

	assert_ok(pool_open(rig->state, "web-v1", &pool, &err));
	assert_ok(pool_write(&pool, &record, &err));
	session = create(rig, &plain);
	assert_string_equal(source_of(session), SESSION_NEW);
	assert_waits(rig, name);
}

/* The filler ends it, and nobody waits for that here. */
static void assert_passed_over(const struct rig *rig, const char *name)
{
	auto_session struct microagent_session *session = create(rig, &plain);

	assert_string_equal(source_of(session), SESSION_NEW);
	assert_true(is_there(token(rig, POOL_READY, name)));
	assert_false(is_there(token(rig, POOL_CLAIMED, name)));
	assert_false(is_there(mark_of(rig, name)));
	assert_int_equal(count_fillers(rig), 1);
}

static void a_member_that_has_ended_is_passed_over(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *member = NULL;
	const char *name;

	keep_pool(rig, 1);
	name = make_member(rig);
	member = session_handle(rig->agent, name, NULL);
	assert_ok(microagent_kill(member->agent, member->id, NULL, &err));
	assert_int_equal(pool_member_lives(rig->agent, name), 0);
	assert_passed_over(rig, name);
}

static void signal_machine(const struct rig *rig, const char *name, int signal)
{
	json_auto_t *runtime = get_json(at(rig, "sessions/%s.bundle/runtime.json", name));

	assert_int_equal(kill((pid_t)json_integer_value(json_object_get(runtime, "pid")), signal),
			 0);
}

static void a_member_that_hangs_is_passed_over(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *next = NULL;
	char name[SESSION_NAME_ROOM];

	keep_pool(rig, 2);
	snprintf(name, sizeof(name), "%s", make_member(rig));
	signal_machine(rig, name, SIGSTOP);
	limit_set(LIMIT_POOL_ANSWER_MS, 1);
	assert_int_equal(pool_member_lives(rig->agent, name), 1);
	assert_passed_over(rig, name);
	/* The next one is taken. The slow one is not lost. */
	make_member(rig);
	limit_set(LIMIT_POOL_ANSWER_MS, 1000);
	next = create(rig, &plain);
	assert_string_equal(source_of(next), SESSION_POOL);
	assert_string_not_equal(microagent_session_name(next), name);
	signal_machine(rig, name, SIGCONT);
	assert_waits(rig, name);
}

/* A refused request uses up no member. */
static void a_damaged_base_costs_nothing(void **state)
{
	struct rig *rig = *state;
	struct microagent_session *session = NULL;
	const char *name;

	keep_pool(rig, 1);
	name = make_member(rig);
	unseal(rig);
	assert_int_equal(unlink(at(rig, "bases/web-v1.bundle/disk.img")), 0);
	put(at(rig, "bases/web-v1.bundle/disk.img"), "another");
	assert_fails(microagent_session_create(rig->agent, &plain, &session, &err), ERR_CONFLICT,
		     "disk.img");
	assert_waits(rig, name);
	put(at(rig, "pool/web-v1/pool.json"), "{");
	assert_fails(microagent_session_create(rig->agent, &plain, &session, &err), ERR_IO,
		     "pool.json");
}

/* --- what a member has not ------------------------------------------------------------------- */

static void a_larger_quota_is_given(void **state)
{
	struct microagent_session_spec larger = plain;
	struct rig *rig = *state;
	auto_session struct microagent_session *session = NULL;
	json_auto_t *record = NULL;

	keep_pool(rig, 1);
	make_member(rig);
	larger.disk_quota_mib = 3;
	session = create(rig, &larger);
	assert_string_equal(source_of(session), SESSION_POOL);
	record = get_json(at(rig, "sessions/%s.bundle/session.json", session->name));
	assert_int_equal(json_integer_value(json_object_get(record, "quotaBytes")), 3 << 20);
}

/* A quota can be raised while a machine runs, and not lowered. */
static void a_smaller_quota_does_not_fit(void **state)
{
	struct microagent_session_spec smaller = plain;
	struct rig *rig = *state;
	auto_session struct microagent_session *session = NULL;
	json_t *metadata = get_json(at(rig, "bases/web-v1.bundle/metadata.json"));
	const char *name;

	unseal(rig);
	json_object_set_new(json_object_get(metadata, "disk"), "bytes", json_integer(10 << 20));
	assert_int_equal(unlink(at(rig, "bases/web-v1.bundle/metadata.json")), 0);
	put_json(at(rig, "bases/web-v1.bundle/metadata.json"), metadata);
	keep_pool(rig, 1);
	name = make_member(rig);
	smaller.disk_quota_mib = 9;
	session = create(rig, &smaller);
	assert_string_equal(source_of(session), SESSION_NEW);
	assert_waits(rig, name);
	microagent_session_close(session);
	smaller.disk_quota_mib = 10;
	session = create(rig, &smaller);
	assert_string_equal(source_of(session), SESSION_POOL);
}

/* --- against its end ------------------------------------------------------------------------- */

static void a_member_destroyed_by_its_name(void **state)
{
	struct rig *rig = *state;
	const char *name;

	keep_pool(rig, 1);
	name = make_member(rig);
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
	assert_false(is_there(bundle(rig, name)));
	assert_int_equal(count_names(at(rig, "pool/web-v1/ready")), 0);
	assert_int_equal(count_names(at(rig, "pool/web-v1/ending")), 0);
}

/* Between the destroyer's look and its rename. */
static void what_is_claimed_meanwhile_is_its_claimers(void **state)
{
	struct rig *rig = *state;

	keep_pool(rig, 1);
	snprintf(the_name, sizeof(the_name), "%s", make_member(rig));
	the_rig = rig;
	before_end = claim_it;
	assert_fails(microagent_session_destroy_named(rig->agent, the_name, &err), ERR_CONFLICT,
		     "has been claimed from its pool");
	assert_null(before_end);
	assert_int_equal(pool_member_lives(rig->agent, the_name), 1);
	assert_true(is_there(token(rig, POOL_CLAIMED, the_name)));
	/* Now it is a session like any other. */
	assert_ok(microagent_session_destroy_named(rig->agent, the_name, &err));
	assert_false(is_there(token(rig, POOL_CLAIMED, the_name)));
}

static void a_claimed_one_is_not_discarded(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	const char *name;

	keep_pool(rig, 1);
	name = make_member(rig);
	assert_ok(pool_open(rig->state, "web-v1", &pool, &err));
	assert_true(pool_take(&pool, name));
	assert_int_equal(pool_discard(rig->agent, &pool, name, NULL), 0);
	assert_ok(pool_shrink(rig->agent, &pool, 0, &err));
	assert_int_equal(pool_member_lives(rig->agent, name), 1);
	assert_true(pool_has(&pool, POOL_CLAIMED, name));
}

static void whether_a_member_lives(void **state)
{
	struct rig *rig = *state;
	char never[SESSION_NAME_ROOM];

	assert_int_equal(pool_member_lives(rig->agent, "session-2026-05-10T14-22-00Z-0001"), 0);
	snprintf(never, sizeof(never), "%s", clone_one(rig));
	assert_int_equal(pool_member_lives(rig->agent, never), 0);
	assert_int_equal(pool_member_lives(rig->agent, make_member(rig)), 1);
	assert_int_equal(pool_member_lives(rig->agent, "session-2026-05-10T14-22-00Z-0001"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		base_test(a_member_is_claimed),
		base_test(claims_until_the_pool_is_empty),
		base_test(two_claimers_of_one_member),
		base_test(what_is_asked_for_must_fit),
		base_test(what_no_member_has_is_made),
		base_test(a_pool_that_is_not_kept_gives_nothing),
		base_test(a_member_that_another_marks_is_passed_over),
		base_test(a_member_that_another_has_is_not_marked),
		base_test(a_member_of_another_kind_is_passed_over),
		base_test(a_pool_of_another_backend_is_passed_over),
		base_test(a_member_that_has_ended_is_passed_over),
		base_test(a_member_that_hangs_is_passed_over),
		base_test(a_damaged_base_costs_nothing),
		base_test(a_larger_quota_is_given),
		base_test(a_smaller_quota_does_not_fit),
		base_test(a_member_destroyed_by_its_name),
		base_test(what_is_claimed_meanwhile_is_its_claimers),
		base_test(a_claimed_one_is_not_discarded),
		base_test(whether_a_member_lives),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("session claims", tests, NULL, NULL);
}
