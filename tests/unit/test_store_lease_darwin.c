/* SPDX-License-Identifier: MIT */
/* Tests the lease as it is made on macOS, with the flock of this system. */
#include "store/darwin/lease.c" /* in the place of this system's own */

#include "store_keeper.h"

static struct lease taken(const struct fixture *f)
{
	struct lease lease = LEASE_NONE;
	struct error err = {0};

	assert_int_equal(lease_take(&f->ws, &lease, &err), 0);
	return lease;
}

static void refused(const struct fixture *f)
{
	struct lease lease = LEASE_NONE;
	struct error err = {0};

	limit_set(LIMIT_LEASE_LOOK_MS, 1);
	assert_true(lease_is_held(&f->ws));
	assert_int_equal(lease_take(&f->ws, &lease, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_non_null(strstr(err.msg, "agent-1"));
	assert_int_equal(lease.life, -1);
	assert_int_equal(lease.lock, -1);
	limit_set(LIMIT_LEASE_LOOK_MS, 60000);
}

static void free_until_taken(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct lease lease;

	assert_false(lease_is_held(&f->ws)); /* no file yet */
	assert_int_equal(lease_wait_free(&f->ws, 0, &err), 0);
	lease = taken(f);
	assert_true(fcntl(lease.life, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(lease.lock, F_GETFD) & FD_CLOEXEC);
	refused(f);
	lease_drop(&lease);
	assert_false(lease_is_held(&f->ws)); /* the file stays */
	assert_int_equal(lease_watch(&f->ws), -1);
	lease = taken(f);
	lease_drop(&lease);
}

static void held_by_who_inherited_it(void **state)
{
	const struct fixture *f = *state;
	struct lease lease = taken(f);
	struct child first = keeper(at(f, "agent-1/lease"));
	struct child second = keeper(at(f, "agent-1/lease"));

	lease_drop(&lease);
	refused(f);
	end(&first);
	refused(f);
	kill(second.pid, SIGKILL); /* however it goes */
	end(&second);
	assert_false(lease_is_held(&f->ws));
}

static void waiting_ends_with_the_holder(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct lease lease = taken(f);
	struct child child = keeper(at(f, "agent-1/lease"));
	int watch = lease_watch(&f->ws);
	pthread_t thread;

	assert_true(watch >= 0);
	lease_drop(&lease);
	assert_int_equal(lease_wait_over(&f->ws, watch, 0, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_int_equal(pthread_create(&thread, NULL, end_when_waited_for, &child), 0);
	assert_int_equal(lease_wait_over(&f->ws, watch, clock_mono_ns() + LONG_NS, &err), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	lease = taken(f); /* the waiter has kept nothing, although it is still there */
	close(watch);
	lease_drop(&lease);
}

/* Somebody who just looks must not make a start fail. */
static void taking_outlasts_a_look(void **state)
{
	const struct fixture *f = *state;
	struct lease lease = taken(f);
	struct child child;
	pthread_t thread;

	lease_drop(&lease);
	int look = open(at(f, "agent-1/lease"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(look, LOCK_SH), 0);
	child = keeper(at(f, "agent-1/lease"));
	close(look);
	limit_set(LIMIT_LEASE_LOOK_MS, 60000);
	assert_int_equal(pthread_create(&thread, NULL, end_when_waited_for, &child), 0);
	lease = taken(f);
	assert_int_equal(pthread_join(thread, NULL), 0);
	lease_drop(&lease);
}

/* On a lease that cannot be looked at nothing may be deleted. */
static void a_strange_lease_counts_as_held(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct lease lease = LEASE_NONE;

	assert_int_equal(symlink("/dev/null", at(f, "agent-1/lease")), 0);
	assert_true(lease_is_held(&f->ws));
	assert_int_equal(lease_take(&f->ws, &lease, &err), -1);
	assert_non_null(strstr(err.msg, "agent-1/lease"));
	assert_int_equal(lease_wait_free(&f->ws, 0, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(free_until_taken),
		store_test(held_by_who_inherited_it),
		store_test(waiting_ends_with_the_holder),
		store_test(taking_outlasts_a_look),
		store_test(a_strange_lease_counts_as_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
