/* SPDX-License-Identifier: MIT */
/* Tests orphans: what a crash, a reboot or a person in the state directory has left is adopted or
 * removed. */
#include <poll.h>

#include "base/clock.h"
#include "session_fixture.h"

#define GHOST "session-2026-05-10T14-22-00Z-0001"

static json_t *gc(const struct rig *rig)
{
	struct error err = {0};
	json_t *done = microagent_session_gc(rig->agent, &err);

	if (!done)
		fail_msg("%s", err.msg);
	return done;
}

/* Returns "removed", "adopted" and "left" of one run. */
static void assert_done(const json_t *done, size_t removed, size_t adopted, size_t left)
{
	autofree char *text = json_line(done, NULL);

	if (json_array_size(json_object_get(done, "removed")) != removed ||
	    json_array_size(json_object_get(done, "adopted")) != adopted ||
	    json_array_size(json_object_get(done, "left")) != left)
		fail_msg("%s", text);
}

static const char *why(const json_t *done, const char *list, const char *name)
{
	const char *text = why_of(json_object_get(done, list), name);

	return text ? text : "";
}

static void assert_nothing(const struct rig *rig)
{
	json_auto_t *done = gc(rig);

	assert_done(done, 0, 0, 0);
}

static void nothing_to_be_done(void **state)
{
	struct rig *rig = *state;
	json_auto_t *done = NULL;
	const char *name;

	keep_pool(rig, 1);
	name = make_member(rig);
	clone_one(rig);
	done = gc(rig);
	assert_done(done, 0, 0, 0);
	assert_null(json_object_get(done, "left"));
	assert_true(is_there(token(rig, POOL_READY, name)));
	assert_int_equal(count_fillers(rig), 0);
}

static void where_nothing_is(void **state)
{
	struct rig *rig = *state;

	assert_nothing(rig);
	/* It may be any directory, and stays as it is. */
	assert_int_equal(count_names(rig->state), 0);
}

/* --- bundles --------------------------------------------------------------------------------- */

static void half_made_and_half_destroyed(void **state)
{
	struct rig *rig = *state;
	char made[SESSION_NAME_ROOM], ended[SESSION_NAME_ROOM];
	json_auto_t *done = NULL;

	snprintf(made, sizeof(made), "%s", clone_one(rig));
	snprintf(ended, sizeof(ended), "%s", clone_one(rig));
	half_make(rig, made);
	touch(at(rig, "sessions/.locks/.making/%s.bundle.end", ended));
	touch(at(rig, "bases/.making-dead/disk.img"));
	done = gc(rig);
	assert_done(done, 3, 0, 0);
	assert_string_equal(why(done, "removed", made), "its creation was interrupted");
	assert_string_equal(why(done, "removed", ended), "its destruction was interrupted");
	assert_non_null(strstr(why(done, "removed", ".making-dead"), "a base"));
	assert_false(is_there(at(rig, "bases/.making-dead")));
	assert_nothing(rig);
}

/* The names of its records exist, and their contents do not. */
static void a_clone_that_was_lost_with_the_power(void **state)
{
	static const char *const files[] = {"session.json", "workspace.json"};
	struct rig *rig = *state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *name = clone_one(rig);
		json_auto_t *done = NULL;

		touch(at(rig, "sessions/%s.bundle/%s", name, files[i]));
		done = gc(rig);
		assert_done(done, 1, 0, 0);
		assert_non_null(strstr(why(done, "removed", name), "lost power"));
		assert_false(is_there(bundle(rig, name)));
	}
}

/* gc and the security log report it once. A session that was destroyed is not reported, with or
 * without its archive. */
static void a_directory_that_was_removed_by_hand(void **state)
{
	struct rig *rig = *state;
	char name[SESSION_NAME_ROOM], ended[SESSION_NAME_ROOM];
	json_auto_t *done = NULL, *known = json_object();

	snprintf(name, sizeof(name), "%s", clone_one(rig));
	snprintf(ended, sizeof(ended), "%s", clone_one(rig));
	assert_ok(microagent_session_destroy_named(rig->agent, ended, &err));
	assert_nothing(rig);
	assert_ok(path_remove_tree_at(AT_FDCWD, at(rig, "archive/%s", ended), &err));
	assert_ok(path_remove_tree_at(AT_FDCWD, bundle(rig, name), &err));
	done = gc(rig);
	assert_done(done, 0, 1, 0);
	assert_string_equal(why(done, "adopted", name),
			    "its directory was removed by hand, and there is no archive of it");
	assert_ok(security_log_sessions(rig->state, known, &err));
	assert_true(json_is_true(json_object_get(known, name)));
	assert_nothing(rig);
}

static void a_damaged_session_is_its_users(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	/* It has run, so its files are on the disk. */
	touch(at(rig, "sessions/%s.bundle/session.json", name));
	touch(at(rig, "sessions/%s.bundle/supervisor.log", name));
	assert_nothing(rig);
	assert_int_equal(unlink(at(rig, "sessions/%s.bundle/supervisor.log", name)), 0);
	/* It lives. */
	int lease = locked(at(rig, "sessions/%s.bundle/lease", name), LOCK_EX);
	assert_nothing(rig);
	close(lease);
	/* It is damaged, and not empty. */
	put(at(rig, "sessions/%s.bundle/session.json", name), "{");
	assert_nothing(rig);
	assert_true(is_there(bundle(rig, name)));
}

static pid_t supervisor_of(const struct rig *rig, const char *name)
{
	json_auto_t *runtime = get_json(at(rig, "sessions/%s.bundle/runtime.json", name));

	return (pid_t)json_integer_value(json_object_get(runtime, "supervisorPid"));
}

/* Until nothing of it holds its lease. */
static void kill_machine(const struct rig *rig, const char *name)
{
	autoclose int lease =
		open(at(rig, "sessions/%s.bundle/lease", name), O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	assert_true(lease >= 0);
	assert_int_equal(kill(supervisor_of(rig, name), SIGKILL), 0);
	assert_ok(fd_wait(lease, 0, clock_mono_ns() + 60 * NS_PER_S, &err));
}

static void a_machine_that_was_killed_is_adopted(void **state)
{
	struct rig *rig = *state;
	json_auto_t *done = NULL;
	const char *name = make_member(rig);
	char token_path[512];

	snprintf(token_path, sizeof(token_path), "%s", token(rig, POOL_READY, name));
	assert_int_equal(unlink(token_path), 0);
	kill_machine(rig, name);
	done = gc(rig);
	assert_done(done, 0, 1, 0);
	assert_non_null(strstr(why(done, "adopted", name), "its machine is gone"));
	assert_true(is_there(bundle(rig, name)));
	assert_nothing(rig);
}

static void a_machine_without_its_directory_is_killed(void **state)
{
	struct rig *rig = *state;
	const char *name = make_member(rig);
	pid_t pid = supervisor_of(rig, name);
	json_auto_t *done = NULL;
	char moved[512];

	snprintf(moved, sizeof(moved), "%s/moved", rig->root);
	assert_int_equal(unlink(token(rig, POOL_READY, name)), 0);
	assert_int_equal(rename(bundle(rig, name), moved), 0);
	done = gc(rig);
	assert_done(done, 1, 0, 0);
	assert_non_null(strstr(why(done, "removed", name), "after its directory was removed"));
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	assert_int_equal(kill(pid, 0), -1);
	assert_nothing(rig);
}

/* --- pools ----------------------------------------------------------------------------------- */

static void tokens_without_a_session_go(void **state)
{
	struct rig *rig = *state;
	json_auto_t *done = NULL;
	const char *name = clone_one(rig);

	make_pool(rig, "web-v1");
	touch(token(rig, POOL_CLAIMED, GHOST));
	touch(token(rig, POOL_CLAIMED, name));
	done = gc(rig);
	assert_done(done, 1, 0, 0);
	assert_non_null(strstr(why(done, "removed", GHOST), "claimed from the pool"));
	assert_true(is_there(token(rig, POOL_CLAIMED, name)));
	assert_false(is_there(token(rig, POOL_CLAIMED, GHOST)));
	assert_nothing(rig);
}

static void a_member_whose_machine_has_ended_goes(void **state)
{
	struct rig *rig = *state;
	json_auto_t *done = NULL;
	char dead[SESSION_NAME_ROOM], alive[SESSION_NAME_ROOM];

	keep_pool(rig, 1);
	snprintf(dead, sizeof(dead), "%s", clone_one(rig));
	snprintf(alive, sizeof(alive), "%s", make_member(rig));
	touch(token(rig, POOL_READY, dead));
	done = gc(rig);
	assert_done(done, 1, 0, 0);
	assert_string_equal(why(done, "removed", dead), POOL_MEMBER_ENDED);
	assert_false(is_there(bundle(rig, dead)));
	assert_false(is_there(token(rig, POOL_READY, dead)));
	assert_true(is_there(token(rig, POOL_READY, alive)));
	assert_int_equal(pool_member_lives(rig->agent, alive), 1);
}

static void a_member_whose_end_broke_off_goes(void **state)
{
	struct rig *rig = *state;
	json_auto_t *done = NULL;
	const char *name = make_member(rig);

	keep_pool(rig, 0 + 1);
	assert_int_equal(rename(token(rig, POOL_READY, name), token(rig, POOL_ENDING, name)), 0);
	int filler = -1;
	{
		auto_pool struct pool pool = POOL_NONE;

		/* The next filler finishes what was begun. */
		assert_ok(pool_open(rig->state, "web-v1", &pool, &err));
		filler = pool_filler_lock(&pool, NULL);
	}
	assert_nothing(rig);
	close(filler);
	done = gc(rig);
	assert_done(done, 1, 1, 0);
	assert_string_equal(why(done, "removed", name), "its destruction was interrupted");
	assert_false(is_there(bundle(rig, name)));
	assert_false(is_there(token(rig, POOL_ENDING, name)));
}

static void a_member_that_somebody_ends_is_his(void **state)
{
	struct rig *rig = *state;
	const char *name = make_member(rig);
	autoclose int mark = -1, filler = -1;
	auto_pool struct pool pool = POOL_NONE;

	assert_int_equal(rename(token(rig, POOL_READY, name), token(rig, POOL_ENDING, name)), 0);
	mark = locked(at(rig, "sessions/.locks/.making/%s.bundle.end", name), LOCK_EX);
	assert_nothing(rig);
	assert_int_equal(pool_member_lives(rig->agent, name), 1);
	assert_true(is_there(token(rig, POOL_ENDING, name)));
	assert_true(is_there(at(rig, "sessions/.locks/.making/%s.bundle.end", name)));
}

static void a_pool_that_is_being_set_is_left_alone(void **state)
{
	struct rig *rig = *state;
	const char *name = make_member(rig);
	auto_pool struct pool pool = POOL_NONE;

	assert_int_equal(rename(token(rig, POOL_READY, name), token(rig, POOL_ENDING, name)), 0);
	assert_ok(pool_open_locked(rig->state, "web-v1", &pool, &err));
	assert_nothing(rig);
	assert_int_equal(pool_member_lives(rig->agent, name), 1);
	pool_close(&pool);
	json_auto_t *done = gc(rig);
	assert_done(done, 1, 0, 0);
}

static void a_pool_without_its_base_goes(void **state)
{
	struct rig *rig = *state;
	json_auto_t *done = NULL;
	const char *name;

	keep_pool(rig, 1);
	name = make_member(rig);
	unseal(rig);
	assert_ok(path_remove_tree_at(AT_FDCWD, at(rig, "bases/web-v1.bundle"), &err));
	done = gc(rig);
	assert_done(done, 1, 0, 0);
	assert_non_null(
		strstr(why(done, "removed", "pool/web-v1"), "base does not exist any more"));
	assert_false(is_there(bundle(rig, name)));
	assert_false(is_there(at(rig, "pool/web-v1")));
}

static void a_pool_that_is_not_kept_goes(void **state)
{
	struct rig *rig = *state;
	json_auto_t *done = NULL;
	const char *name = make_member(rig);

	done = gc(rig);
	assert_done(done, 1, 0, 0);
	assert_non_null(strstr(why(done, "removed", "pool/web-v1"), "does not exist any more"));
	assert_false(is_there(bundle(rig, name)));
	assert_false(is_there(at(rig, "pool/web-v1")));
}

static void a_damaged_pool_is_its_users(void **state)
{
	struct rig *rig = *state;
	const char *name;

	keep_pool(rig, 1);
	name = make_member(rig);
	put(at(rig, "pool/web-v1/pool.json"), "{");
	assert_nothing(rig);
	assert_int_equal(pool_member_lives(rig->agent, name), 1);
	assert_int_equal(count_fillers(rig), 0);
}

static void a_pool_with_a_gap_gets_a_filler(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	json_auto_t *done = NULL;
	int filler;

	keep_pool(rig, 2);
	make_member(rig);
	assert_ok(pool_open(rig->state, "web-v1", &pool, &err));
	filler = pool_filler_lock(&pool, NULL);
	assert_nothing(rig);
	close(filler);
	assert_int_equal(count_fillers(rig), 0);
	done = gc(rig);
	assert_done(done, 0, 1, 0);
	assert_string_equal(why(done, "adopted", "pool/web-v1"), "a pool that no process fills");
	assert_int_equal(count_fillers(rig), 1);
}

static void an_empty_pool_is_tidied(void **state)
{
	struct rig *rig = *state;

	make_pool(rig, "web-v1");
	assert_nothing(rig);
	assert_false(is_there(at(rig, "pool/web-v1")));
}

/* Makes the archive of a session that was destroyed so many seconds ago. Returns its name, valid
 * until the next call. */
static const char *archive_one(const struct rig *rig, time_t ago)
{
	static char names[2][SESSION_NAME_ROOM];
	static unsigned next;
	char *name = names[next++ % 2];
	const struct timespec when = {.tv_sec = time(NULL) - ago};
	const struct timespec times[] = {when, when};

	snprintf(name, SESSION_NAME_ROOM, "%s", clone_one(rig));
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
	assert_int_equal(utimensat(AT_FDCWD, at(rig, "archive/%s/audit.log", name), times, 0), 0);
	return name;
}

static void old_archives_go_on_request(void **state)
{
	struct rig *rig = *state;
	const char *old = archive_one(rig, 7200), *young = archive_one(rig, 3000);
	json_auto_t *done = NULL, *again = NULL;

	touch(at(rig, "archive/notes"));
	touch(at(rig, "archive/.removing-" GHOST "/audit.log")); /* of a call that was killed */
	assert_nothing(rig);
	done = microagent_archive_remove_older(rig->agent, 3600, NULL);
	assert_int_equal(json_array_size(json_object_get(done, "removed")), 1);
	assert_string_equal(why(done, "removed", old), "an archive older than 1 hour");
	assert_null(json_object_get(done, "left"));
	assert_true(is_there(at(rig, "archive/%s/audit.log", young)));
	assert_int_equal(count_names(at(rig, "archive")), 2);
	/* It was removed on purpose, and not by somebody who hides something. */
	assert_fails(microagent_audit_verify(rig->agent, old, &err) ? 0 : -1, ERR_NOT_FOUND,
		     "was removed, as the security log says");
	assert_nothing(rig);
	/* A session that is still being destroyed may need its own. */
	make_parents(at(rig, "sessions/%s.bundle/x", young));
	again = microagent_archive_remove_older(rig->agent, 1, NULL);
	assert_int_equal(json_array_size(json_object_get(again, "removed")), 0);
	assert_fails(microagent_archive_remove_older(rig->agent, 0, &err) ? 0 : -1, ERR_INVALID,
		     "at least one second");
}

static void without_archives_none_goes(void **state)
{
	struct rig *rig = *state;
	json_auto_t *done = microagent_archive_remove_older(rig->agent, 1, NULL);

	assert_int_equal(json_array_size(json_object_get(done, "removed")), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		base_test(nothing_to_be_done),
		rig_test(where_nothing_is),
		base_test(half_made_and_half_destroyed),
		base_test(a_clone_that_was_lost_with_the_power),
		base_test(a_directory_that_was_removed_by_hand),
		base_test(a_damaged_session_is_its_users),
		base_test(a_machine_that_was_killed_is_adopted),
		base_test(a_machine_without_its_directory_is_killed),
		base_test(tokens_without_a_session_go),
		base_test(a_member_whose_machine_has_ended_goes),
		base_test(a_member_whose_end_broke_off_goes),
		base_test(a_member_that_somebody_ends_is_his),
		base_test(a_pool_that_is_being_set_is_left_alone),
		base_test(a_pool_without_its_base_goes),
		base_test(a_pool_that_is_not_kept_goes),
		base_test(a_damaged_pool_is_its_users),
		base_test(a_pool_with_a_gap_gets_a_filler),
		base_test(an_empty_pool_is_tidied),
		base_test(old_archives_go_on_request),
		rig_test(without_archives_none_goes),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("session gc", tests, NULL, NULL);
}
