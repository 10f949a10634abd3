/* SPDX-License-Identifier: MIT */
/* Tests a path that is walked by hand: where it leads, that it never leads out of the root, and
 * whose links root follows. */
#include "test_base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "guest/files/walk.h"

static char dir_path[64];

static int make_tree(void **state)
{
	static const char *const links[][2] = {
		{"a/b", "short"},	    {"/a/b", "absolute"}, {"../../../a", "a/out"},
		{"../short/../c", "a/way"}, {"loop", "loop"},	  {"refused", "a/b/refused"},
		{"none", "dangling"},
	};

	(void)state;
	strcpy(dir_path, "/tmp/microagent-walk-XXXXXX");
	assert_non_null(mkdtemp(dir_path));
	assert_int_equal(chdir(dir_path), 0);
	assert_true(mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0 && mkdir("a/c", 0755) == 0);
	assert_int_equal(close(open("a/b/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		assert_int_equal(symlink(links[i][0], links[i][1]), 0);
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	return chdir("/") < 0 ? -1 : path_remove_tree_at(AT_FDCWD, dir_path, NULL);
}

static int follow_but_refused(void *data, const char *path, const struct stat *link,
			      const struct stat *dir, struct error *err)
{
	int *followed = data;

	assert_true(S_ISLNK(link->st_mode) && S_ISDIR(dir->st_mode));
	if (strstr(path, "refused"))
		return error_set(err, ERR_DENIED, "%s: not this one", path);
	++*followed;
	return 0;
}

static void paths_lead_where_they_say(void **state)
{
	static const struct {
		const char *path, *leads; /* NULL: nowhere */
		int links;
		const char *why;
	} rows[] = {
		{"/", "/", 0, NULL},
		{"a/./b//file", "/a/b/file", 0, NULL},
		{"/a/b/../c", "/a/c", 0, NULL},
		{"/../../a/c/..", "/a", 0, NULL},
		{"/short/file", "/a/b/file", 1, NULL},
		{"/absolute", "/a/b", 1, NULL},
		{"/a/out/b", "/a/b", 1, NULL},
		{"/a/way", "/a/c", 2, NULL},
		{"/loop", NULL, 40, "/loop: Too many levels of symbolic links"},
		{"/short/refused/x", NULL, 1, "/a/b/refused: not this one"},
		{"/dangling", NULL, 1, "/none: No such file or directory"},
		{"/a/b/file/x", NULL, 0, "/a/b/file/x: Not a directory"},
	};
	autoclose int root = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int followed = 0;
		const struct walk_rule rule = {.follow = follow_but_refused, .data = &followed};
		struct walked found = {.fd = -7};
		struct error err = {0};
		int status = walk_path(root, rows[i].path, &rule, &found, &err);

		assert_int_equal(followed, rows[i].links);
		if (rows[i].leads) {
			assert_ok(status);
			assert_string_equal(found.path, rows[i].leads);
			assert_int_equal(close(found.fd), 0);
			continue;
		}
		assert_int_equal(status, -1);
		assert_int_equal(found.fd, -7);
		assert_string_equal(err.msg, rows[i].why);
	}
}

static void what_is_too_long_is_refused(void **state)
{
	const struct walk_rule rule = {.follow = follow_but_refused, .data = NULL};
	autoclose int root = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[2 * PATH_MAX];
	struct walked found;
	struct error err = {0};

	(void)state;
	memset(path, 'x', NAME_MAX + 1);
	path[NAME_MAX + 1] = '\0';
	assert_int_equal(walk_path(root, path, &rule, &found, &err), -1);
	assert_int_equal(err.errnum, ENAMETOOLONG);
	for (size_t i = 0; i < sizeof(path) - 1; i++)
		path[i] = i % 2 ? '.' : '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(walk_path(root, path, &rule, &found, &err), -1);
	assert_int_equal(err.errnum, ENAMETOOLONG);
}

static void a_mountpoint_is_made(void **state)
{
	struct error err = {0};
	struct walked found;
	struct stat st, made;
	char path[128], expected[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/short/new/deep", dir_path);
	snprintf(expected, sizeof(expected), "%s/a/b/new/deep", dir_path);
	assert_ok(walk_mountpoint(path, &found, &err));
	assert_string_equal(found.path, expected);
	assert_int_equal(fstat(found.fd, &st), 0);
	assert_int_equal(stat("a/b/new/deep", &made), 0);
	assert_true(S_ISDIR(st.st_mode) && st.st_ino == made.st_ino);
	close(found.fd);
}

static void a_link_that_another_user_may_rename_is_refused(void **state)
{
	static const mode_t modes[] = {0775, 0757, 01777};
	struct error err = {0};
	struct walked found = {.fd = -7};
	char path[128], expected[320];

	(void)state;
	snprintf(path, sizeof(path), "%s/a/way/other", dir_path);
	snprintf(
		expected, sizeof(expected),
		"nothing is mounted in the guest, because %s/a/way is a link in a directory to which not only root can write, so another user could choose the place of the mount: name a path without this link",
		dir_path);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod("a", modes[i]), 0);
		assert_int_equal(walk_mountpoint(path, &found, &err), -1);
		assert_int_equal(err.code, ERR_DENIED);
		assert_string_equal(err.msg, expected);
		assert_int_equal(found.fd, -7);
	}
	assert_int_equal(chmod("a", 0755), 0);
}

/* Only root can give a link to another owner. */
static void a_link_of_another_user_is_refused(void **state)
{
	struct error err = {0};
	struct walked found = {.fd = -7};
	char path[128];

	(void)state;
	if (geteuid() != 0) {
		print_message("only root gives a link to another user\n");
		skip();
	}
	assert_int_equal(lchown("short", 1000, 1000), 0);
	snprintf(path, sizeof(path), "%s/short/other", dir_path);
	assert_int_equal(walk_mountpoint(path, &found, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	assert_non_null(strstr(err.msg, "/short is a link that user 1000 made"));
	assert_int_equal(found.fd, -7);
	assert_int_equal(access("a/b/other", F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_lead_where_they_say),
		cmocka_unit_test(what_is_too_long_is_refused),
		cmocka_unit_test(a_mountpoint_is_made),
		cmocka_unit_test(a_link_that_another_user_may_rename_is_refused),
		cmocka_unit_test(a_link_of_another_user_is_refused),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
