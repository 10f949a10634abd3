/* SPDX-License-Identifier: MIT */
/* Tests names in the cache, and names that no user may choose. */
#include "test_base.h"

#include "store/cache.h"

/* The endings distinguish entries: no user's name may have another one's. */
static void names_have_the_ending_of_their_architecture(void **state)
{
	struct error err = {0};
	autofree char *amd64 = cache_entry_name("tool", ARCHITECTURE_AMD64, &err);
	autofree char *arm64 = cache_entry_name("tool", ARCHITECTURE_ARM64, &err);
	autofree char *again = cache_entry_name("tool-arm64", ARCHITECTURE_ARM64, &err);

	(void)state;
	assert_string_equal(amd64, "tool");
	assert_string_equal(arm64, "tool-arm64");
	assert_string_equal(again, "tool-arm64");
	assert_ok(cache_image_check_name("tool-arm64", ARCHITECTURE_ARM64, &err));
	assert_int_equal(cache_image_check_name("tool-arm64", ARCHITECTURE_AMD64, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_int_equal(cache_kernel_check_name("mine-arm64", ARCHITECTURE_AMD64, &err), -1);
	assert_code(err, ERR_INVALID);
}

static void refuses_image_name(const char *name, enum architecture architecture, const char *why)
{
	struct error err = {0};

	assert_int_equal(cache_image_check_name(name, architecture, &err), -1);
	assert_code(err, ERR_INVALID);
	if (!strstr(err.msg, why))
		fail_msg("%s: %s", name, err.msg);
}

/* For any of its architectures. Otherwise an import would replace a built entry. */
static void names_of_built_images_are_nobody_s(void **state)
{
	static const char *const built[] = {"busybox", "debian"};
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(built); i++)
		for (int j = 0; j < ARCHITECTURE_COUNT; j++) {
			autofree char *name =
				cache_entry_name(built[i], (enum architecture)j, &err);

			assert_non_null(name);
			for (int k = 0; k <= ARCHITECTURE_COUNT; k++)
				refuses_image_name(
					name, (enum architecture)k,
					"is the name of an image that microagent builds");
		}
	assert_ok(cache_image_check_name("busybox-arm6", ARCHITECTURE_ARM64, &err));
	assert_ok(cache_image_check_name("debian-12-arm64", ARCHITECTURE_ARM64, &err));
	/* A kind's name means its newest kernel. */
	assert_int_equal(cache_kernel_check_name("custom-arm64", ARCHITECTURE_ARM64, &err), -1);
	assert_code(err, ERR_INVALID);
}

/* Its file says later for which architecture it is. */
static void a_name_may_come_before_the_architecture(void **state)
{
	struct error err = {0};

	(void)state;
	assert_ok(cache_kernel_check_name("mine-arm64", ARCHITECTURE_COUNT, &err));
	assert_ok(cache_kernel_check_name("mine", ARCHITECTURE_COUNT, &err));
	assert_int_equal(cache_kernel_check_name("tuned-6.1-arm64", ARCHITECTURE_COUNT, &err), -1);
	assert_code(err, ERR_INVALID);
}

/* Each is before the next. */
static void versions_have_an_order(void **state)
{
	static const char *const rising[] = {"",	 "5.10",      "6.1",	    "6.1.9",
					     "6.1.55-1", "6.1.192-2", "6.1.192-10", "6.1.192-10a",
					     "6.2",	 "6.10-rc1",  "6.10.0",	    "10.0"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rising); i++)
		for (size_t j = 0; j < ARRAY_SIZE(rising); j++) {
			int order = cache_compare_versions(rising[i], rising[j]);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
			order = strverscmp(rising[i], rising[j]);
			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_the_ending_of_their_architecture),
		cmocka_unit_test(names_of_built_images_are_nobody_s),
		cmocka_unit_test(a_name_may_come_before_the_architecture),
		cmocka_unit_test(versions_have_an_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
