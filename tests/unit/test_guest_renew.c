/* SPDX-License-Identifier: MIT */
/* Tests the files that make a restored machine another one. */
#include "test_base.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/path.h"
#include "guest/machine/renew.h"

#define OLD "00000000000000000000000000000000\n"
#define NEW "0123456789abcdef0123456789abcdef"

static void make_dirs(struct scratch *s)
{
	static const char *const dirs[] = {"etc",
					   "etc/ssh",
					   "var",
					   "var/lib",
					   "var/lib/dbus",
					   "var/lib/systemd",
					   "var/lib/seedrng"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		assert_int_equal(mkdirat(s->fd, dirs[i], 0755), 0);
}

static void put(struct scratch *s, const char *path, const char *text)
{
	autoclose int fd = openat(s->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
}

static void expect_text(struct scratch *s, const char *path, const char *text)
{
	char got[128] = "";
	autoclose int fd = openat(s->fd, path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	assert_string_equal(got, text);
}

static bool is_there(struct scratch *s, const char *path)
{
	struct stat st;

	return fstatat(s->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void ids_and_seeds(void **state)
{
	struct scratch *s = *state;
	struct error err = {0};

	make_dirs(s);
	put(s, "etc/machine-id", OLD);
	put(s, "var/lib/dbus/machine-id", OLD "and more than an id");
	put(s, "var/lib/systemd/random-seed", "seed");
	put(s, "var/lib/seedrng/seed.credit", "seed");
	assert_ok(renew_ids(s->fd, NEW, &err));
	assert_ok(renew_drop_seeds(s->fd, &err));
	assert_ok(renew_drop_seeds(s->fd, &err));
	expect_text(s, "etc/machine-id", NEW "\n");
	expect_text(s, "var/lib/dbus/machine-id", NEW "\n");
	assert_false(is_there(s, "var/lib/systemd/random-seed"));
	assert_false(is_there(s, "var/lib/seedrng/seed.credit"));
}

/* Debian's dbus links to the one file, and an image that was never booted has an empty one. */
static void what_is_no_id(void **state)
{
	struct scratch *s = *state;
	struct error err = {0};

	assert_ok(renew_ids(s->fd, NEW, &err)); /* nothing at all */
	make_dirs(s);
	put(s, "etc/machine-id", "");
	put(s, "etc/elsewhere", OLD);
	assert_int_equal(symlinkat("../../../etc/elsewhere", s->fd, "var/lib/dbus/machine-id"), 0);
	assert_ok(renew_ids(s->fd, NEW, &err));
	expect_text(s, "etc/machine-id", "");
	expect_text(s, "etc/elsewhere", OLD);
	assert_int_equal(unlinkat(s->fd, "etc/machine-id", 0), 0);
	assert_int_equal(mkfifoat(s->fd, "etc/machine-id", 0600), 0);
	assert_ok(renew_ids(s->fd, NEW, &err));
}

static void seeds_that_cannot_be_removed(void **state)
{
	struct scratch *s = *state;
	struct error err = {0};

	make_dirs(s);
	assert_int_equal(mkdirat(s->fd, "var/lib/systemd/random-seed", 0755), 0);
	assert_int_equal(renew_drop_seeds(s->fd, &err), -1);
	assert_non_null(strstr(err.msg, "random-seed"));
}

static void host_keys_are_dropped(void **state)
{
	struct scratch *s = *state;
	struct error err = {0};
	bool any = true;

	assert_ok(renew_drop_host_keys(s->fd, &any, &err));
	assert_false(any);
	make_dirs(s);
	put(s, "etc/ssh/ssh_config", "");
	assert_ok(renew_drop_host_keys(s->fd, &any, &err));
	assert_false(any);
	put(s, "etc/ssh/ssh_host_rsa_key", "key");
	put(s, "etc/ssh/ssh_host_rsa_key.pub", "key");
	put(s, "etc/ssh/ssh_host_ed25519_key", "key");
	assert_ok(renew_drop_host_keys(s->fd, &any, &err));
	assert_true(any);
	assert_true(is_there(s, "etc/ssh/ssh_config"));
	assert_false(is_there(s, "etc/ssh/ssh_host_rsa_key"));
	assert_false(is_there(s, "etc/ssh/ssh_host_rsa_key.pub"));
	assert_false(is_there(s, "etc/ssh/ssh_host_ed25519_key"));
}

#define renew_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		renew_test(ids_and_seeds),
		renew_test(what_is_no_id),
		renew_test(seeds_that_cannot_be_removed),
		renew_test(host_keys_are_dropped),
	};

	return cmocka_run_group_tests_name("guest renewal", tests, NULL, NULL);
}
