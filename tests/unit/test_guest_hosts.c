/* SPDX-License-Identifier: MIT */
/* Tests /etc/hosts of a guest: which lines it gets, and which file is left alone. */
#include "test_base.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "guest/machine/hosts.h"

#define LOCALHOST "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
#define OWN(name) "127.0.1.1\t" name " # this machine\n"

static void lines_are_added_where_they_are_missing(void **state)
{
	static const struct {
		const char *before, *name, *after;
	} cases[] = {
		{"", "box", LOCALHOST OWN("box")},
		{LOCALHOST OWN("box"), "box", LOCALHOST OWN("box")},
		/* Another machine with the same disk, a fork. */
		{LOCALHOST OWN("box"), "twin", LOCALHOST OWN("twin")},
		{LOCALHOST "10.0.0.1 db\n" OWN("box"), "twin",
		 LOCALHOST "10.0.0.1 db\n" OWN("twin")},
		/* Lines of the image or its user stay, with comments and upper case. */
		{"127.0.0.1 LocalHost box.example Box\n::1 ip6-localhost\n", "box",
		 "127.0.0.1 LocalHost box.example Box\n::1 ip6-localhost\n"},
		{"# localhost\n10.0.0.1 other # box localhost", "box",
		 LOCALHOST "# localhost\n10.0.0.1 other # box localhost\n" OWN("box")},
		{"localhost 127.0.0.1\n", "", LOCALHOST "localhost 127.0.0.1\n"},
		{"127.0.0.1 localhost\n", "localhost",
		 "::1\tlocalhost ip6-localhost ip6-loopback\n127.0.0.1 localhost\n"},
	};
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		autobuf struct buf out = BUF_INIT(HOSTS_BYTES);
		const char *before = cases[i].before;
		int changed = hosts_complete(before, strlen(before), cases[i].name, &out, &err);

		assert_string_equal(buf_string(&out), cases[i].after);
		assert_int_equal(changed, strcmp(before, cases[i].after) != 0);
	}
}

static void what_is_no_plain_file_is_left_alone(void **state)
{
	char dir[] = "/tmp/hosts-XXXXXX", path[64], target[64];
	struct error err = {0};
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/hosts", dir);
	snprintf(target, sizeof(target), "%s/target", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_ok(hosts_keep(path, "box", &err));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_ok(hosts_keep(path, "box", &err));
	assert_int_equal(stat(target, &st), -1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_ok(hosts_keep(path, "box", &err));
	assert_int_equal(rmdir(path), 0);
	assert_ok(hosts_keep(path, "box", &err));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, strlen(LOCALHOST OWN("box")));
	assert_int_equal(truncate(path, HOSTS_BYTES + 1), 0);
	assert_ok(hosts_keep(path, "box", &err));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, HOSTS_BYTES + 1);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
	/* The root of a machine for containers has no /etc. */
	assert_ok(hosts_keep(path, "box", &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_added_where_they_are_missing),
		cmocka_unit_test(what_is_no_plain_file_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
