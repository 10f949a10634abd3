/* SPDX-License-Identifier: MIT */
/* Tests the filler of a pool: there is one at a time, its start identifies it, and no other process
 * is ended in its place. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/proc.h"
#include "session_fixture.h"

static void open_filled_pool(const struct rig *rig, struct pool *pool)
{
	make_pool(rig, "web-v1");
	assert_ok(pool_open(rig->state, "web-v1", pool, &err));
}

/* --- the filler ------------------------------------------------------------------------------ */

static void one_filler_at_a_time(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	int lock;

	open_filled_pool(rig, &pool);
	lock = pool_filler_lock(&pool, NULL);
	assert_true(lock >= 0);
	assert_fails(pool_filler_lock(&pool, &err), ERR_CONFLICT,
		     "another process is already filling the pool of");
	/* A process that finds a filler starts none. */
	assert_ok(pool_filler_start(rig->agent, &pool, &err));
	assert_int_equal(count_fillers(rig), 0);
	close(lock);
	assert_false(pool_has_filler(&pool));
	assert_ok(pool_filler_start(rig->agent, &pool, &err));
	assert_int_equal(count_fillers(rig), 1);
}

static void a_filler_signs_with_its_start(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	autobuf struct buf text = BUF_INIT(64);
	uint64_t ticks = 0;
	char wanted[64];
	int lock;

	open_filled_pool(rig, &pool);
	put(at(rig, "pool/web-v1/filler.lock"), "a longer line of the one before this one\n");
	lock = pool_filler_lock(&pool, NULL);
	assert_ok(pool_filler_sign(lock, &err));
	assert_ok(proc_start_time(getpid(), &ticks, &err));
	snprintf(wanted, sizeof(wanted), "%d %" PRIu64 "\n", (int)getpid(), ticks);
	assert_ok(path_read_file_at(pool.dir.fd, POOL_LOCK, &text, &err));
	assert_string_equal(buf_string(&text), wanted);
	close(lock);
}

/* A process that has the lock and waits to be killed. */
static pid_t start_filler(const struct pool *pool, bool sign)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		int lock = pool_filler_lock(pool, NULL);

		if (lock < 0 || (sign && pool_filler_sign(lock, NULL) < 0))
			_exit(1);
		(void)!write(ready[1], "r", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void a_filler_is_ended(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	int status = 0;
	pid_t pid;

	open_filled_pool(rig, &pool);
	assert_ok(pool_filler_end(&pool, &err));
	pid = start_filler(&pool, true);
	assert_true(pool_has_filler(&pool));
	assert_ok(pool_filler_end(&pool, &err));
	assert_false(pool_has_filler(&pool));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* Its pid belongs to another process now. */
static void nobody_else_is_ended(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	uint64_t ticks = 0;
	char text[64];
	int status = 0;
	pid_t pid;

	open_filled_pool(rig, &pool);
	pid = start_filler(&pool, false);
	assert_ok(proc_start_time(pid, &ticks, &err));
	snprintf(text, sizeof(text), "%d %" PRIu64 "\n", (int)pid, ticks + 1);
	/* Without a rename, since the lock is on this file. */
	put(at(rig, "pool/web-v1/filler.lock"), text);
	limit_set(LIMIT_KILL_MS, 30);
	assert_fails(pool_filler_end(&pool, &err), ERR_TIMEOUT, "was not found");
	limit_reset(LIMIT_KILL_MS);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_filler_at_a_time, rig_make, rig_drop),
		cmocka_unit_test_setup_teardown(a_filler_signs_with_its_start, rig_make, rig_drop),
		cmocka_unit_test_setup_teardown(a_filler_is_ended, rig_make, rig_drop),
		cmocka_unit_test_setup_teardown(nobody_else_is_ended, rig_make, rig_drop),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("fillers", tests, NULL, NULL);
}
