/* SPDX-License-Identifier: MIT */
/* Tests which changed files of a shared directory are found as autorun files. */
#include "test_base.h"

#include <limits.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/file.h"
#include "store/share/autorun.h"

/* Makes the directories of the path, and the file. */
static void put(const struct scratch *s, const char *path)
{
	struct error err = {0};
	char dir[256];

	snprintf(dir, sizeof(dir), "%s", scratch_path(s, path));
	*strrchr(dir, '/') = '\0';
	assert_ok(path_make_dirs(dir, 0755, &err));
	int fd = openat(s->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	close(fd);
}

static int64_t changed_ns(const struct scratch *s, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(s->fd, path, &st, 0), 0);
	struct timespec at = file_changed(&st);
	return at.tv_sec * (int64_t)NS_PER_S + at.tv_nsec;
}

/* Returns a time later than all changes so far. The clock of a file system is coarse, so this makes
 * a file until its time is another one. */
static int64_t now(const struct scratch *s)
{
	int64_t first, later;

	put(s, "clock");
	first = later = changed_ns(s, "clock");
	while (later == first) {
		put(s, "clock");
		later = changed_ns(s, "clock");
	}
	assert_int_equal(unlinkat(s->fd, "clock", 0), 0);
	return later;
}

/* Checks the paths that are found, in their order, separated by spaces. */
static void check(const struct scratch *s, int64_t since, const char *expected)
{
	struct autorun_found found = {0};
	struct error err = {0};
	char text[1024] = "";
	json_t *file;
	size_t i;

	assert_ok(autorun_find(s->fd, since, &found, &err));
	json_array_foreach(found.files, i, file)
	{
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "",
			 json_text(file, "path", ""));
		assert_true(strlen(json_text(file, "by", "")) > 3);
	}
	assert_string_equal(text, expected);
	assert_false(found.more);
	assert_false(found.incomplete);
	json_decref(found.files);
}

static void what_changed_alone(void **state)
{
	const struct scratch *s = *state;
	int64_t since;

	put(s, "Makefile");
	put(s, "src/package.json");
	put(s, ".git/config");
	put(s, "main.c");
	since = now(s);
	check(s, since, "");
	check(s, 0, ".git/config Makefile src/package.json");
	put(s, "src/package.json");
	put(s, "main.c");
	check(s, since, "src/package.json");
	/* A change of the mode or of the name counts too, and a link with the name. */
	assert_int_equal(fchmodat(s->fd, "Makefile", 0600, 0), 0);
	assert_int_equal(renameat(s->fd, "main.c", s->fd, ".envrc"), 0);
	assert_int_equal(symlinkat("main.c", s->fd, "conftest.py"), 0);
	check(s, since, ".envrc Makefile conftest.py src/package.json");
}

static void names_of_the_table(void **state)
{
	const struct scratch *s = *state;

	put(s, ".vscode/deep/tasks");
	put(s, "a/.idea/x");
	put(s, "b/rules.mk");
	put(s, "b/xMakefile");
	put(s, "c/my.vscode/x");
	put(s, "compose.yaml");
	check(s, 0, ".vscode/deep/tasks a/.idea/x b/rules.mk compose.yaml");
}

static void files_of_git(void **state)
{
	const struct scratch *s = *state;

	put(s, ".git/HEAD");
	put(s, ".git/index");
	put(s, ".git/objects/config");
	put(s, ".git/hooks/pre-commit");
	put(s, ".git/hooks/pre-push.sample");
	put(s, ".git/modules/sub/HEAD");
	put(s, ".git/modules/sub/config");
	put(s, ".git/modules/sub/commondir");
	put(s, "worktree/.git");
	check(s, 0,
	      ".git/hooks/pre-commit .git/modules/sub/commondir .git/modules/sub/config worktree/.git");
}

/* A repository below the directory, and one without the name .git, in directories of packages too.
 */
static void nested_repositories(void **state)
{
	const struct scratch *s = *state;

	put(s, "node_modules/a/.git/config");
	put(s, "node_modules/a/package.json");
	put(s, "bare/HEAD");
	put(s, "bare/objects/x");
	put(s, "bare/refs/x");
	put(s, "bare/config");
	put(s, "bare/hooks/update");
	put(s, "none/config");
	check(s, 0, "bare/config bare/hooks/update node_modules/a/.git node_modules/a/.git/config");
}

/* A guest makes a directory look like a repository, to hide its other files. */
static void nothing_is_hidden_by_a_repository(void **state)
{
	const struct scratch *s = *state;

	put(s, "HEAD");
	put(s, "objects/Makefile");
	put(s, "refs/.envrc");
	put(s, "Makefile");
	check(s, 0, "Makefile objects/Makefile refs/.envrc");
}

/* A link in the place of a directory leads to files that were not searched. */
static void links_to_directories(void **state)
{
	const struct scratch *s = *state;

	put(s, "evil/tasks.json");
	assert_int_equal(symlinkat("evil", s->fd, ".vscode"), 0);
	assert_int_equal(symlinkat("evil", s->fd, "x.vscode"), 0);
	put(s, ".git/HEAD");
	assert_int_equal(symlinkat("../evil", s->fd, ".git/hooks"), 0);
	check(s, 0, ".git/hooks .vscode");
}

static void check_path(const char *path, bool is_dir, bool expected)
{
	const char *by = autorun_of_path(path, is_dir);

	if ((by != NULL) != expected)
		fail_msg("%s: %s", path, by ? by : "no autorun file");
}

static void paths_alone(void **state)
{
	static const char *const yes[] = {
		"Makefile",
		"MAKEFILE",
		"a/b/.envrc",
		".VSCode/tasks.json",
		"a/.vscode",
		".git/config",
		".GIT/config",
		"a/.git",
		"a/.git/hooks/post-checkout",
		".git/objects/.git/config",
		"node_modules/x/.envrc",
		"n\n\x1b\xff/Makefile",
		"x\xff/.vscode/\xff",
		".hg/hgrc",
		"a/.hg",
		".eslintrc",
		".prettierrc",
		".yarn/releases/yarn.cjs",
		"gradle/wrapper/gradle-wrapper.jar",
		"gradle/wrapper/gradle-wrapper.properties",
		"tools/bazel",
		"mise.local.toml",
		".mise.local.toml",
		".cursorrules",
		".windsurfrules",
		".clinerules",
		".aider.conf.yml",
		"opencode.json",
		".jj/repo/config.toml",
		".gitconfig",
		".lvimrc",
		".nvimrc",
		".vimrc",
		".pdbrc",
		".pylintrc",
		"mypy.ini",
		"pytest.ini",
		"sitecustomize.py",
		".lldbinit",
		"flake.nix",
		"shell.nix",
		"default.nix",
		"Directory.Build.props",
		"src/a.csproj",
		"a.sublime-project",
		"Containerfile.dev",
		"bunfig.toml",
		"jest.config.ts",
		"vite.config.js",
		"webpack.config.js",
		".babelrc",
		".babelrc.json",
		"babel.config.js",
		"composer.json",
		"SConstruct",
		"mix.exs",
		"Package.swift",
		"build.sbt",
		".bundle/config",
	};
	static const char *const no[] = {
		"main.c",
		"xMakefile",
		"Makefile/x",
		"my.vscode/x",
		".yarn/cache/x.zip",
		"tools/other",
		"wrapper/x",
		".vscodes/x",
		".git/index",
		".git/hooks/pre-commit.sample",
		".git/objects/ab/config",
		"node_modules/x/package.json",
		"NODE_MODULES/x/package.json",
		"vendor/Makefile",
		".git/Makefile",
		"a/config",
		"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		check_path(yes[i], false, true);
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		check_path(no[i], false, false);
	/* Of directories only nested repositories count. */
	check_path("a/.git", true, true);
	check_path(".git", true, false);
	check_path("a/Makefile", true, false);
	assert_non_null(autorun_in_repository("config"));
	assert_non_null(autorun_in_repository("hooks/update"));
	assert_null(autorun_in_repository("hooks/update.sample"));
	assert_null(autorun_in_repository("x/config"));
}

static void links_are_not_followed(void **state)
{
	const struct scratch *s = *state;

	put(s, "deep/.envrc");
	assert_int_equal(symlinkat("deep", s->fd, "link"), 0);
	assert_int_equal(symlinkat("..", s->fd, "deep/up"), 0);
	check(s, 0, "deep/.envrc");
}

/* A guest makes a path that is longer than the kernel takes in one call, to have the search fail. */
static void a_long_path_hides_nothing(void **state)
{
	const struct scratch *s = *state;
	char name[NAME_MAX + 1];
	int at = dup(s->fd), below;

	memset(name, 'd', NAME_MAX);
	name[NAME_MAX] = '\0';
	put(s, "Makefile");
	for (int level = 0; level < AUTORUN_LEVELS; level++) {
		assert_int_equal(mkdirat(at, name, 0755), 0);
		below = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = below;
		assert_true(at >= 0);
	}
	close(at);
	check(s, 0, "Makefile");
}

static void what_is_not_searched_is_told(void **state)
{
	const struct scratch *s = *state;
	struct autorun_found found = {0};
	struct error err = {0};
	char path[4096] = "";

	for (int level = 0; level < 2 * AUTORUN_LEVELS; level++) {
		strcat(path, level ? "/d" : "d");
		assert_int_equal(mkdirat(s->fd, path, 0755), 0);
	}
	assert_ok(autorun_find(s->fd, 0, &found, &err));
	assert_true(found.incomplete);
	json_decref(found.files);

	assert_ok(path_remove_tree_at(s->fd, "d", &err));
	put(s, "a/Makefile");
	put(s, "b/Makefile");
	limit_set(LIMIT_AUTORUN_FILES, 1);
	assert_ok(autorun_find(s->fd, 0, &found, &err));
	limit_reset(LIMIT_AUTORUN_FILES);
	assert_true(found.more && !found.incomplete);
	assert_int_equal(json_array_size(found.files), 1);
	json_decref(found.files);

	limit_set(LIMIT_AUTORUN_ENTRIES, 3);
	assert_ok(autorun_find(s->fd, 0, &found, &err));
	limit_reset(LIMIT_AUTORUN_ENTRIES);
	assert_true(found.incomplete);
	json_decref(found.files);
}

/* Each descriptor is closed, and a directory that cannot be read is said. */
static void descriptors(void **state)
{
	const struct scratch *s = *state;
	struct autorun_found found = {0};
	int before = open_descriptors();
	struct error err = {0};

	put(s, "a/b/c/.envrc");
	check(s, 0, "a/b/c/.envrc");
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(autorun_find(-1, 0, &found, &err), -1);
	assert_string_equal(error_code_name(err.code), error_code_name(ERR_IO));
	assert_null(found.files);
	assert_int_equal(open_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_changed_alone, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(names_of_the_table, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(files_of_git, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(nested_repositories, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(nothing_is_hidden_by_a_repository, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(links_to_directories, scratch_make, scratch_remove),
		cmocka_unit_test(paths_alone),
		cmocka_unit_test_setup_teardown(links_are_not_followed, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(a_long_path_hides_nothing, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(what_is_not_searched_is_told, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(descriptors, scratch_make, scratch_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
