/* SPDX-License-Identifier: MIT */
/* Tests which setting of the host prevents cells. */
#include "test_base.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/platform/linux/userns.h"

static void put_setting(const struct scratch *scratch, const char *name, const char *value)
{
	char path[4352];

	snprintf(path, sizeof(path), "%s/%s", scratch->path, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(value, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void the_first_that_forbids_is_named(void **state)
{
	static const char *const names[] = {"kernel/unprivileged_userns_clone",
					    "user/max_user_namespaces",
					    "kernel/apparmor_restrict_unprivileged_userns"};
	static const char *const forbids[] = {"0\n", "0\n", "1\n"};
	static const char *const allows[] = {"1\n", "96403\n", "0\n"};
	static const char *const settings[] = {"kernel.unprivileged_userns_clone=1",
					       "user.max_user_namespaces=10000",
					       "kernel.apparmor_restrict_unprivileged_userns=0"};
	const struct scratch *scratch = *state;

	assert_null(userns_setting(scratch->path)); /* another kernel */
	assert_int_equal(mkdirat(scratch->fd, "kernel", 0700), 0);
	assert_int_equal(mkdirat(scratch->fd, "user", 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put_setting(scratch, names[i], forbids[i]);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_string_equal(userns_setting(scratch->path), settings[i]);
		put_setting(scratch, names[i], allows[i]);
	}
	assert_null(userns_setting(scratch->path));
}

static void what_is_used_up_is_named(void **state)
{
	const struct error why = {.errnum = ENOSPC, .msg = "unshare: No space left on device"};
	struct error err = {0};

	(void)state;
	assert_int_equal(userns_missing(&why, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_string_equal(err.msg,
			    "namespaces cannot be made here (unshare: No space left on device): it "
			    "needs the sysctl user.max_user_namespaces=10000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_first_that_forbids_is_named, scratch_make,
						scratch_remove),
		cmocka_unit_test(what_is_used_up_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
