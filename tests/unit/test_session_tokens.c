/* SPDX-License-Identifier: MIT */
/* Tests a pool's directory and its tokens: of any number of processes that want a token one has
 * it. */
#include <sys/syscall.h>

#include "session_fixture.h"

#define ONE "session-2026-05-10T14-22-00Z-0001"
#define TWO "session-2026-05-10T14-22-01Z-0000"
#define CLAIMERS 4
#define TOKENS 40

/* A byte is written to it before each lock; -1: nobody wants to know. */
static int locks_told = -1;

int flock(int fd, int operation)
{
	if (locks_told >= 0)
		(void)!write(locks_told, "l", 1);
	return (int)syscall(SYS_flock, fd, operation);
}

static void open_pool(const struct rig *rig, struct pool *pool)
{
	make_pool(rig, "web-v1");
	assert_ok(pool_open(rig->state, "web-v1", pool, &err));
}

static void a_token_is_taken_once(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	assert_ok(pool_add(&pool, ONE, &err));
	assert_true(pool_has(&pool, POOL_READY, ONE));
	assert_false(pool_has(&pool, POOL_CLAIMED, ONE));
	assert_true(pool_take(&pool, ONE));
	assert_false(pool_has(&pool, POOL_READY, ONE));
	assert_true(pool_has(&pool, POOL_CLAIMED, ONE));
	assert_false(pool_take(&pool, ONE));
	assert_false(pool_take(&pool, TWO));
}

static void a_token_is_added_once(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	assert_ok(pool_add(&pool, ONE, &err));
	assert_fails(pool_add(&pool, ONE, &err), ERR_CONFLICT, "ready/" ONE);
}

static void a_token_is_ended_or_taken(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	assert_ok(pool_add(&pool, ONE, &err));
	assert_int_equal(pool_end(&pool, ONE, NULL), 1);
	assert_true(pool_has(&pool, POOL_ENDING, ONE));
	assert_false(pool_take(&pool, ONE));
	assert_int_equal(pool_end(&pool, ONE, NULL), 0);
	assert_ok(pool_add(&pool, TWO, &err));
	assert_true(pool_take(&pool, TWO));
	assert_int_equal(pool_end(&pool, TWO, NULL), 0);
	assert_true(pool_has(&pool, POOL_CLAIMED, TWO));
}

/* A pool of a version that had no ending/. */
static void ending_is_made_where_it_is_missing(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	assert_ok(pool_add(&pool, ONE, &err));
	assert_int_equal(rmdir(at(rig, "pool/web-v1/ending")), 0);
	assert_int_equal(pool_end(&pool, ONE, NULL), 1);
	assert_true(pool_has(&pool, POOL_ENDING, ONE));
}

static void an_end_that_cannot_be_is_told(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	assert_ok(pool_add(&pool, ONE, &err));
	assert_int_equal(rmdir(at(rig, "pool/web-v1/ending")), 0);
	touch(at(rig, "pool/web-v1/ending"));
	assert_fails(pool_end(&pool, ONE, &err), ERR_IO, "pool/web-v1/ready/" ONE);
	assert_true(pool_has(&pool, POOL_READY, ONE));
}

static void a_forgotten_token_is_nowhere(void **state)
{
	static const char *const kinds[] = {POOL_READY, POOL_CLAIMED, POOL_ENDING};
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		touch(token(rig, kinds[i], ONE));
		touch(token(rig, kinds[i], TWO));
	}
	pool_forget(&pool, ONE);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		assert_false(pool_has(&pool, kinds[i], ONE));
		assert_true(pool_has(&pool, kinds[i], TWO));
	}
}

static void tokens_are_listed_oldest_first(void **state)
{
	static const char *const names[] = {
		"session-2026-05-10T14-22-00Z-ffff", "session-2026-01-10T14-22-00Z-0000",
		"session-2027-05-10T14-22-00Z-0000", "session-2026-05-10T14-22-00Z-0000"};
	static const int order[] = {1, 3, 0, 2};
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	json_auto_t *list = NULL;

	open_pool(rig, &pool);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_ok(pool_add(&pool, names[i], &err));
	touch(token(rig, POOL_READY, "notes"));
	touch(token(rig, POOL_READY, ".hidden"));
	touch(token(rig, POOL_READY, ONE ".bundle"));
	list = pool_tokens(&pool, POOL_READY, NULL);
	assert_int_equal(json_array_size(list), ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(json_string_value(json_array_get(list, i)), names[order[i]]);
}

static void tokens_of_no_directory(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	json_auto_t *list = NULL;
	struct error err = {0};

	open_pool(rig, &pool);
	assert_int_equal(rmdir(at(rig, "pool/web-v1/ending")), 0);
	list = pool_tokens(&pool, POOL_ENDING, &err);
	assert_true(json_is_array(list) && json_array_size(list) == 0);
	touch(at(rig, "pool/web-v1/ending"));
	assert_null(pool_tokens(&pool, POOL_ENDING, &err));
	assert_non_null(strstr(err.msg, at(rig, "pool/web-v1")));
}

/* --- at once --------------------------------------------------------------------------------- */

static const char *nth(int i)
{
	static char name[SESSION_NAME_ROOM];

	snprintf(name, sizeof(name), "session-2026-05-10T14-22-00Z-%04x", (unsigned)i);
	return name;
}

/* Returns how many of TOKENS fn has got, in CLAIMERS processes together. Each process begins when
 * all are there. */
static int race(struct pool *pool, bool (*fn)(struct pool *pool, int who, const char *name))
{
	int gate[2], total = 0;

	assert_int_equal(pipe(gate), 0);
	for (int who = 0; who < CLAIMERS; who++) {
		if (fork() == 0) {
			int got = 0;
			char byte;

			close(gate[1]);
			(void)!read(gate[0], &byte, 1);
			for (int i = 0; i < TOKENS; i++)
				got += fn(pool, who, nth(i));
			_exit(got);
		}
	}
	close(gate[0]);
	close(gate[1]);
	for (int i = 0; i < CLAIMERS; i++) {
		int status = 0;

		assert_true(wait(&status) > 0 && WIFEXITED(status));
		total += WEXITSTATUS(status);
	}
	return total;
}

static bool take(struct pool *pool, int who, const char *name)
{
	(void)who;
	return pool_take(pool, name);
}

static bool take_or_end(struct pool *pool, int who, const char *name)
{
	return who % 2 ? pool_take(pool, name) : pool_end(pool, name, NULL) == 1;
}

static void claimers_of_one_token(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	for (int i = 0; i < TOKENS; i++)
		assert_ok(pool_add(&pool, nth(i), &err));
	assert_int_equal(race(&pool, take), TOKENS);
	assert_int_equal(count_names(at(rig, "pool/web-v1/claimed")), TOKENS);
	assert_int_equal(count_names(at(rig, "pool/web-v1/ready")), 0);
}

static void claimers_against_destroyers(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	for (int i = 0; i < TOKENS; i++)
		assert_ok(pool_add(&pool, nth(i), &err));
	assert_int_equal(race(&pool, take_or_end), TOKENS);
	assert_int_equal(count_names(at(rig, "pool/web-v1/claimed")) +
				 count_names(at(rig, "pool/web-v1/ending")),
			 TOKENS);
	assert_int_equal(count_names(at(rig, "pool/web-v1/ready")), 0);
}

static void a_claim_is_seen_by_fillers(void **state)
{
	static const struct timespec old[2] = {{1000, 0}, {1000, 0}};
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	struct stat here, all;

	open_pool(rig, &pool);
	utimensat(AT_FDCWD, at(rig, "pool/web-v1/claimed"), old, 0);
	utimensat(AT_FDCWD, at(rig, "pool"), old, 0);
	pool_touch(&pool);
	assert_int_equal(stat(at(rig, "pool/web-v1/claimed"), &here), 0);
	assert_int_equal(stat(at(rig, "pool"), &all), 0);
	assert_true(here.st_mtime > 1000 && all.st_mtime > 1000);
}

/* --- the directory --------------------------------------------------------------------------- */

static void a_pool_that_is_not_there(void **state)
{
	struct rig *rig = *state;
	struct pool pool = POOL_NONE;

	assert_fails(pool_open(rig->state, "web-v1", &pool, &err), ERR_NOT_FOUND, "web-v1");
	assert_int_equal(pool.dir.fd, -1);
	assert_false(is_there(at(rig, "pool")));
}

static void one_at_a_time_sets_a_pool(void **state)
{
	struct rig *rig = *state;
	struct pool mine = POOL_NONE, other = POOL_NONE;

	limit_set(LIMIT_POOL_LOCK_MS, 20);
	assert_ok(pool_open_locked(rig->state, "web-v1", &mine, &err));
	assert_int_equal(count_names(at(rig, "pool/web-v1")), 3);
	assert_fails(pool_open_locked(rig->state, "web-v1", &other, &err), ERR_CONFLICT, "web-v1");
	assert_ok(pool_open(rig->state, "web-v1", &other, &err));
	assert_false(pool_try_lock(&other));
	pool_close(&mine);
	assert_true(pool_try_lock(&other));
	pool_close(&other);
	limit_reset(LIMIT_POOL_LOCK_MS);
}

static void a_lock_on_what_was_removed_is_none(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	pool_tidy(&pool);
	assert_false(is_there(at(rig, "pool/web-v1")));
	assert_false(pool_try_lock(&pool));
}

/* A process that waits for the lock gets it on a directory that has no name any more, and begins
 * anew. */
static void a_pool_that_goes_while_one_waits(void **state)
{
	struct rig *rig = *state;
	struct pool mine = POOL_NONE;
	int ends[2], status = 0;
	char byte;

	assert_int_equal(pipe(ends), 0);
	assert_ok(pool_open_locked(rig->state, "web-v1", &mine, &err));
	if (fork() == 0) {
		struct pool pool = POOL_NONE;

		pool_close(&mine);
		locks_told = ends[1];
		_exit(pool_open_locked(rig->state, "web-v1", &pool, NULL) < 0 ||
		      pool_add(&pool, ONE, NULL) < 0);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	pool_tidy(&mine);
	pool_close(&mine);
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	assert_true(is_there(token(rig, POOL_READY, ONE)));
	close(ends[0]);
	close(ends[1]);
}

static void pools_by_their_bases(void **state)
{
	struct rig *rig = *state;
	json_auto_t *none = pool_bases(rig->state, NULL), *bases = NULL;

	assert_true(json_is_array(none) && json_array_size(none) == 0);
	make_pool(rig, "web-v2");
	make_pool(rig, "db-v1");
	/* No version, so nobody's. */
	assert_int_equal(mkdir(at(rig, "pool/web"), 0700), 0);
	touch(at(rig, "pool/.hidden"));
	bases = pool_bases(rig->state, NULL);
	assert_int_equal(json_array_size(bases), 2);
	assert_string_equal(json_string_value(json_array_get(bases, 0)), "db-v1");
	assert_string_equal(json_string_value(json_array_get(bases, 1)), "web-v2");
}

/* --- tidied ---------------------------------------------------------------------------------- */

static void an_empty_pool_goes(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	touch(at(rig, "pool/web-v1/filler.log"));
	touch(at(rig, "pool/web-v1/filler.lock"));
	pool_tidy(&pool);
	assert_false(is_there(at(rig, "pool/web-v1")));
}

static void a_pool_with_a_token_stays(void **state)
{
	static const char *const kinds[] = {POOL_READY, POOL_CLAIMED, POOL_ENDING};
	struct rig *rig = *state;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		auto_pool struct pool pool = POOL_NONE;

		open_pool(rig, &pool);
		touch(token(rig, kinds[i], ONE));
		pool_tidy(&pool);
		assert_true(pool_has(&pool, kinds[i], ONE));
		assert_true(is_there(at(rig, "pool/web-v1")));
		pool_forget(&pool, ONE);
		pool_tidy(&pool);
		assert_false(is_there(at(rig, "pool/web-v1")));
	}
}

static void a_pool_that_is_kept_stays(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	touch(at(rig, "pool/web-v1/pool.json"));
	pool_tidy(&pool);
	assert_int_equal(count_names(at(rig, "pool/web-v1")), 4);
}

static void a_pool_that_somebody_sets_stays(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE, other = POOL_NONE;

	open_pool(rig, &pool);
	assert_ok(pool_open_locked(rig->state, "web-v1", &other, &err));
	pool_tidy(&pool);
	assert_int_equal(count_names(at(rig, "pool/web-v1")), 3);
}

static void a_pool_with_a_filler_stays(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	int lock;

	open_pool(rig, &pool);
	assert_false(pool_has_filler(&pool));
	lock = pool_filler_lock(&pool, NULL);
	assert_true(lock >= 0);
	assert_true(pool_has_filler(&pool));
	pool_tidy(&pool);
	assert_true(is_there(at(rig, "pool/web-v1/ready")));
	close(lock);
	pool_tidy(&pool);
	assert_false(is_there(at(rig, "pool/web-v1")));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		rig_test(a_token_is_taken_once),
		rig_test(a_token_is_added_once),
		rig_test(a_token_is_ended_or_taken),
		rig_test(ending_is_made_where_it_is_missing),
		rig_test(an_end_that_cannot_be_is_told),
		rig_test(a_forgotten_token_is_nowhere),
		rig_test(tokens_are_listed_oldest_first),
		rig_test(tokens_of_no_directory),
		rig_test(claimers_of_one_token),
		rig_test(claimers_against_destroyers),
		rig_test(a_claim_is_seen_by_fillers),
		rig_test(a_pool_that_is_not_there),
		rig_test(one_at_a_time_sets_a_pool),
		rig_test(a_lock_on_what_was_removed_is_none),
		rig_test(a_pool_that_goes_while_one_waits),
		rig_test(pools_by_their_bases),
		rig_test(an_empty_pool_goes),
		rig_test(a_pool_with_a_token_stays),
		rig_test(a_pool_that_is_kept_stays),
		rig_test(a_pool_that_somebody_sets_stays),
		rig_test(a_pool_with_a_filler_stays),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("session tokens", tests, NULL, NULL);
}
