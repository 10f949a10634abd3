/* SPDX-License-Identifier: MIT */
/* Tests the priority of a member's processes when the member is ready. Only Linux has such a
 * priority (SCHED_IDLE). */
#include <sched.h>

#include "session/pools/pool.h"
#include "store_keeper.h"

static struct child idle_keeper(const struct fixture *f)
{
	const struct sched_param none = {0};
	struct child child = keeper(at(f, "agent-1/lease"));

	assert_int_equal(sched_setscheduler(child.pid, SCHED_IDLE, &none), 0);
	return child;
}

/* A live supervisor that was taken over has written runtime.json. */
static void others_stay_idle(void **state)
{
	const struct fixture *f = *state;
	struct child other = idle_keeper(f), own;
	struct lease lease = LEASE_NONE;
	struct error err = {0};
	json_auto_t *runtime = json_pack("{s:i}", "supervisorPid", (int)other.pid);

	assert_int_equal(workspace_write(&f->ws, "runtime.json", runtime, STORE_NO_SYNC, &err), 0);
	assert_int_equal(lease_take(&f->ws, &lease, &err), 0);
	own = idle_keeper(f);
	/* This process has no lease any more, so its earlier children do not belong to the
	 * workspace. */
	lease_drop(&lease);
	pool_raise(&f->ws);
	assert_int_equal(sched_getscheduler(other.pid), SCHED_IDLE);
	/* A user other than root may not raise it everywhere. */
	if (geteuid() == 0)
		assert_int_equal(sched_getscheduler(own.pid), SCHED_OTHER);
	end(&own);
	end(&other);
	pool_raise(&f->ws);
}

int main(void)
{
	const struct CMUnitTest tests[] = {store_test(others_stay_idle)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
