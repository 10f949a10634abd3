/* SPDX-License-Identifier: MIT */
/* Tests the user that a base gets: the user's lines in files of any form, and the user's place in a
 * root. */
#include "guest_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "guest/files/account.h"
#include "guest/files/account_lines.h"

static const struct account_line passwd = {"agent", "agent:x:1000:1000::/home/agent:/bin/sh", 1000};
static const struct account_line shadow = {"agent", "agent:*:1::::::", ACCOUNT_NO_ID};

static void expect(const char *before, const struct account_line *line, const char *after)
{
	struct error err = {0};
	char *text = account_lines_add(before, line, &err);

	assert_non_null(text);
	assert_string_equal(text, after);
	free(text);
}

static void test_a_line_is_added_once(void **state)
{
	(void)state;
	expect("", &passwd, "agent:x:1000:1000::/home/agent:/bin/sh\n");
	expect("root:x:0:0\n", &passwd, "root:x:0:0\nagent:x:1000:1000::/home/agent:/bin/sh\n");
	expect("root:x:0:0", &passwd, "root:x:0:0\nagent:x:1000:1000::/home/agent:/bin/sh\n");
	expect("agent:x:1000:5::/:/x\n", &passwd, "agent:x:1000:5::/:/x\n");
	expect("agents:x:1:1\n", &passwd, "agents:x:1:1\nagent:x:1000:1000::/home/agent:/bin/sh\n");
	expect("root:*:1\n", &shadow, "root:*:1\nagent:*:1::::::\n");
	expect("agent:!:9\n", &shadow, "agent:!:9\n");
}

/* A lookup of the name for the number gets the first one. */
static void test_it_comes_before_others_of_its_number(void **state)
{
	(void)state;
	expect("root:x:0:0\nnode:x:1000:1000::/home/node:/bin/sh\nubuntu:x:1000:1::/:/\n", &passwd,
	       "root:x:0:0\nagent:x:1000:1000::/home/agent:/bin/sh\n"
	       "node:x:1000:1000::/home/node:/bin/sh\nubuntu:x:1000:1::/:/\n");
	expect("x\n\n:::\n10000:x:10000:\nn:1000\n", &passwd,
	       "x\n\n:::\n10000:x:10000:\nn:1000\nagent:x:1000:1000::/home/agent:/bin/sh\n");
}

static void test_another_number_is_a_conflict(void **state)
{
	struct error err = {0};

	(void)state;
	assert_null(account_lines_add("node:x:1000:1\nagent:x:101:1\n", &passwd, &err));
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_null(account_lines_add("agent\n", &passwd, &err));
	assert_int_equal(err.code, ERR_CONFLICT);
}

static mode_t mode_of(int root, const char *path, uid_t owner)
{
	struct stat st;

	assert_int_equal(fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_uid, owner);
	return st.st_mode & 07777;
}

/* An image of one program has a root with nothing else in it. */
static void test_an_empty_root(void **state)
{
	char path[] = "/tmp/account-XXXXXX";
	char *words[] = {path, NULL};
	struct error err = {0};
	int root;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can give files away\n");
		skip();
	}
	assert_non_null(mkdtemp(path));
	root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(account_make(words, &err), 0);
	assert_int_equal(account_make(words, &err), 0);
	assert_int_equal(mode_of(root, "etc/passwd", 0), 0644);
	assert_int_equal(mode_of(root, "home/agent", 1000), 0755);
	assert_int_equal(mode_of(root, "workspace", 1000), 0755);
	assert_int_equal(mode_of(root, "tmp", 0), 01777);
	assert_int_equal(faccessat(root, "etc/shadow", F_OK, 0), -1);
	assert_int_equal(mkdirat(root, "open", 0), 0);
	assert_int_equal(fchmodat(root, "open", 03777, 0), 0);
	assert_int_equal(mkdirat(root, "workspace/his", 0700), 0);
	assert_int_equal(fchownat(root, "workspace/his", 1000, 1000, 0), 0);
	assert_int_equal(account_confine(words, &err), 0);
	assert_int_equal(mode_of(root, "open", 0), 03775);
	assert_int_equal(mode_of(root, "workspace/his", 1000), 0700);
	close(root);
	assert_int_equal(path_remove_tree_at(AT_FDCWD, path, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_is_added_once),
		cmocka_unit_test(test_it_comes_before_others_of_its_number),
		cmocka_unit_test(test_another_number_is_a_conflict),
		cmocka_unit_test(test_an_empty_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
