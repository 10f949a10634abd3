/* SPDX-License-Identifier: MIT */
/* Tests the order in which modules are loaded, from the output of depmod. */
#include "test_base.h"

#include "artifact/modules.h"

/* As depmod writes it: each line has all needed modules, the nearest first. */
static const char dep[] = "kernel/drivers/virtio/virtio.ko: kernel/drivers/virtio/virtio_ring.ko\n"
			  "kernel/drivers/virtio/virtio_ring.ko:\n"
			  "kernel/drivers/char/hw_random/virtio-rng.ko: "
			  "kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko\n"
			  "kernel/net/vsock.ko:\n"
			  "kernel/net/vsock_common.ko: kernel/net/vsock.ko "
			  "kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko\n"
			  "kernel/fs/fuse/fuse.ko.xz:\n";
static const char builtin[] = "kernel/fs/ext4/ext4.ko\nkernel/drivers/acpi/button.ko\n";

static void assert_order(const char *const *names, const char *const *expected)
{
	struct module_list list = {0};
	struct error err = {0};
	size_t n = 0;

	if (modules_resolve(dep, builtin, names, &list, &err) < 0)
		fail_msg("%s", err.msg);
	for (; expected[n]; n++) {
		assert_true(n < list.count);
		assert_string_equal(list.paths[n], expected[n]);
	}
	assert_int_equal(list.count, n);
	module_list_free(&list);
}

static void dependencies_come_first_and_once(void **state)
{
	(void)state;
	assert_order((const char *const[]){"virtio_rng", "vsock_common", "virtio", NULL},
		     (const char *const[]){"kernel/drivers/virtio/virtio_ring.ko",
					   "kernel/drivers/virtio/virtio.ko",
					   "kernel/drivers/char/hw_random/virtio-rng.ko",
					   "kernel/net/vsock.ko", "kernel/net/vsock_common.ko",
					   NULL});
}

static void builtin_needs_no_loading(void **state)
{
	(void)state;
	assert_order((const char *const[]){"ext4", "button", "vsock", NULL},
		     (const char *const[]){"kernel/net/vsock.ko", NULL});
	assert_order((const char *const[]){NULL}, (const char *const[]){NULL});
}

static void names_are_whole_and_may_be_compressed(void **state)
{
	(void)state;
	assert_order((const char *const[]){"fuse", NULL},
		     (const char *const[]){"kernel/fs/fuse/fuse.ko.xz", NULL});
}

static void a_missing_module_is_named(void **state)
{
	struct module_list list = {.count = 77};
	struct error err = {0};

	(void)state;
	assert_int_equal(modules_resolve(dep, builtin, (const char *const[]){"vsock", "vso", NULL},
					 &list, &err),
			 -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "vso"));
	assert_int_equal(list.count, 77);
}

/* The texts come from a package, so nonsense must do no harm. */
static void nonsense_is_survived(void **state)
{
	static const char *const texts[] = {"",
					    "\n\n",
					    ":",
					    "a.ko",
					    "a.ko:",
					    "a.ko: \n",
					    "a.ko:   b.ko  c.ko\n",
					    "/.ko: .ko\n",
					    "a.ko: b.ko",
					    "\n:a.ko: x\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct module_list list = {0};
		struct error err = {0};

		(void)modules_resolve(texts[i], texts[i], (const char *const[]){"a", NULL}, &list,
				      &err);
		module_list_free(&list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dependencies_come_first_and_once),
		cmocka_unit_test(builtin_needs_no_loading),
		cmocka_unit_test(names_are_whole_and_may_be_compressed),
		cmocka_unit_test(a_missing_module_is_named),
		cmocka_unit_test(nonsense_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
