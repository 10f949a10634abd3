/* SPDX-License-Identifier: MIT */
/* The listener by which a template's memory is given. tests/e2e/test_saved_machines.py has the memory
 * itself. */
#include "test_base.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "supervisor/inputs/template_siblings.h"

static void nobody_has_come(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};
	autoclose int listener = sock_listen_at(s->fd, "siblings.sock", &err);

	assert_true(listener >= 0);
	assert_int_equal(template_memory_give(listener, listener), 0);
}

/* The event loop would find such a descriptor ready again and again, if it watched it. */
static void nobody_can_come(void **state)
{
	struct error err = {0};
	int ends[2];

	(void)state;
	assert_int_equal(fd_pipe(ends, &err), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(template_memory_give(ends[0], ends[1]), -1);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nobody_has_come, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(nobody_can_come, scratch_make, scratch_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
