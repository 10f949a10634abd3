/* SPDX-License-Identifier: MIT */
/* Tests what a shared git worktree lacks in the guest, and a .git that leads to a forbidden
 * place. */
#include "test_base.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/share_git.h"
#include "base/path.h"

static char base[64];

static const char *at(const char *format, ...)
{
	static char paths[4][PATH_MAX];
	static size_t turn;
	char *path = paths[turn++ % ARRAY_SIZE(paths)];
	va_list args;
	int used = snprintf(path, PATH_MAX, "%s/", base);

	va_start(args, format);
	vsnprintf(path + used, (size_t)(PATH_MAX - used), format, args);
	va_end(args);
	return path;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* Makes a repository and a worktree of it, as `git worktree add` does. */
static int make(void **state)
{
	struct error err = {0};

	(void)state;
	strcpy(base, "/tmp/microagent-git-XXXXXX");
	assert_non_null(mkdtemp(base));
	assert_ok(path_make_dirs(at("main/.git/worktrees/tree"), 0755, &err));
	assert_ok(path_make_dirs(at("main/.git/objects"), 0755, &err));
	assert_ok(path_make_dirs(at("main/.git/refs"), 0755, &err));
	put(at("main/.git/HEAD"), "ref: refs/heads/main\n");
	assert_ok(path_make_dirs(at("tree/below"), 0755, &err));
	assert_ok(path_make_dirs(at("other/.git"), 0755, &err));
	put(at("main/.git/worktrees/tree/gitdir"), at("tree/.git\n"));
	put(at("main/.git/worktrees/tree/commondir"), "../..\n");
	return 0;
}

static int remove_all(void **state)
{
	(void)state;
	return path_remove_tree_at(AT_FDCWD, base, NULL);
}

static void say_gitdir(const char *text)
{
	char line[PATH_MAX + 16];

	snprintf(line, sizeof(line), "gitdir: %s\n", text);
	put(at("tree/.git"), line);
}

static void expect(const char *mountpoint, const char *common, const char *place)
{
	auto_share_git struct share_git git = {0};
	struct error err = {0};

	assert_ok(share_git_find(at("tree"), mountpoint, &git, &err));
	if (!common) {
		assert_null(git.common);
		assert_null(git.place);
		return;
	}
	assert_non_null(git.common);
	assert_string_equal(git.common, common);
	assert_string_equal(git.place, place);
}

static void a_worktree_lacks_what_all_have_in_common(void **state)
{
	(void)state;
	say_gitdir(at("main/.git/worktrees/tree"));
	expect("/workspace", at("main/.git"), at("main/.git"));
	/* Relative paths (git 2.48 on) lead elsewhere in the guest. */
	say_gitdir("../main/.git/worktrees/tree");
	put(at("main/.git/worktrees/tree/gitdir"), "../../../../tree/.git\n");
	expect("/workspace", at("main/.git"), "/main/.git");
	expect("/a/b/c", at("main/.git"), "/a/b/main/.git");
	expect("/workspace/", at("main/.git"), "/main/.git");
	/* A bare repository. */
	assert_int_equal(rename(at("main/.git"), at("bare")), 0);
	say_gitdir(at("bare/worktrees/tree"));
	put(at("bare/worktrees/tree/gitdir"), at("tree/.git\n"));
	expect("/workspace", at("bare"), at("bare"));
	say_gitdir("../bare/worktrees/tree");
	put(at("bare/worktrees/tree/gitdir"), "../../../tree/.git\n");
	expect("/workspace", at("bare"), "/bare");
}

static void what_is_no_worktree_lacks_nothing(void **state)
{
	struct stat st;

	(void)state;
	unlink(at("tree/.git"));
	expect("/workspace", NULL, NULL);
	put(at("tree/.git"), "something else\n");
	expect("/workspace", NULL, NULL);
	say_gitdir("/nonexistent/of/git");
	expect("/workspace", NULL, NULL);
	unlink(at("tree/.git"));
	assert_int_equal(mkfifo(at("tree/.git"), 0600), 0);
	expect("/workspace", NULL, NULL);
	unlink(at("tree/.git"));
	assert_int_equal(mkdir(at("tree/.git"), 0700), 0);
	expect("/workspace", NULL, NULL);
	assert_int_equal(rmdir(at("tree/.git")), 0);
	/* If it is inside the shared directory, the guest has it, in whatever form it is
	 * written. */
	assert_int_equal(mkdir(at("tree/repository"), 0700), 0);
	say_gitdir("repository");
	expect("/workspace", NULL, NULL);
	say_gitdir("./below/..//repository");
	expect("/workspace", NULL, NULL);
	assert_int_equal(stat(at("tree/repository"), &st), 0);
}

static void refused_as(const char *mountpoint, const char *why)
{
	struct share_git git = {(char *)(uintptr_t)1, NULL};
	struct error err = {0};

	assert_int_equal(share_git_find(at("tree"), mountpoint, &git, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	if (!strstr(err.msg, "/tree/.git ") || !strstr(err.msg, why))
		fail_msg("%s", err.msg);
	assert_null(git.common);
}

static void refused(const char *gitdir)
{
	say_gitdir(gitdir);
	refused_as("/workspace", "where no repository has this worktree");
}

static void refused_detour(const char *gitdir)
{
	say_gitdir(gitdir);
	refused_as("/workspace", "but git writes the path without links and without \"..\"");
}

/* A user who may write to the directory does not choose what else is shared. */
static void a_directory_that_does_not_lead_back(void **state)
{
	struct error err = {0};

	(void)state;
	refused(at("other"));
	refused_detour("..");
	refused("/etc");
	refused(at("main/.git")); /* of a submodule, or of --separate-git-dir */
	/* The admin directory of another worktree. */
	assert_ok(path_make_dirs(at("main/.git/worktrees/second"), 0755, &err));
	put(at("main/.git/worktrees/second/gitdir"), at("second/.git\n"));
	put(at("main/.git/worktrees/second/commondir"), "../..\n");
	refused(at("main/.git/worktrees/second"));
	/* The repository names this .git, but it is not in the common directory that it names. */
	assert_ok(path_make_dirs(at("elsewhere"), 0755, &err));
	put(at("elsewhere/gitdir"), at("tree/.git\n"));
	refused(at("elsewhere"));
	put(at("elsewhere/commondir"), at("other/.git\n"));
	refused(at("elsewhere"));
	put(at("elsewhere/commondir"), ".."); /* that it lies in, and is no repository's */
	refused(at("elsewhere"));
	/* Everything is right, except that the common directory is no repository. */
	assert_ok(path_make_dirs(at("none/worktrees/tree"), 0755, &err));
	put(at("none/worktrees/tree/gitdir"), at("tree/.git\n"));
	put(at("none/worktrees/tree/commondir"), "../..\n");
	refused(at("none/worktrees/tree"));
	put(at("none/HEAD"), "ref: refs/heads/main\n");
	assert_int_equal(mkdir(at("none/refs"), 0755), 0);
	assert_int_equal(symlink("../main/.git/objects", at("none/objects")), 0);
	refused(at("none/worktrees/tree"));
	/* Files in the shared directory may be the guest's work. */
	assert_ok(path_make_dirs(at("tree/worktrees/x"), 0755, &err));
	put(at("tree/worktrees/x/gitdir"), at("tree/.git\n"));
	put(at("tree/worktrees/x/commondir"), "../../..\n");
	say_gitdir(at("tree/worktrees/x"));
	expect("/workspace", NULL, NULL);
}

/* A guest that may write to the worktree chooses neither the file that is read as .git, nor the
 * path to the repository. */
static void another_file_and_another_way(void **state)
{
	(void)state;
	say_gitdir(at("main/.git/worktrees/tree"));
	assert_int_equal(rename(at("tree/.git"), at("file")), 0);
	assert_int_equal(symlink(at("file"), at("tree/.git")), 0);
	refused_as("/workspace", ".git is a symbolic link, but git makes a regular file there");
	assert_int_equal(unlink(at("tree/.git")), 0);
	assert_int_equal(link(at("file"), at("tree/.git")), 0);
	refused_as("/workspace", ".git is a file with several names (hard links)");
	assert_int_equal(unlink(at("tree/.git")), 0);

	/* All of these lead to the right directory on the host. */
	assert_int_equal(symlink(at("main"), at("link")), 0);
	refused_detour(at("link/.git/worktrees/tree"));
	assert_int_equal(symlink("below", at("tree/L")), 0);
	refused_detour("L/../../main/.git/worktrees/tree");
	refused_detour("./../main/.git/worktrees/tree");
	refused_detour("../main/.git//worktrees/tree");
	refused_detour("../main/.git/worktrees/tree/");
	refused_detour("../tree/../main/.git/worktrees/tree");
	/* A longer way up than git takes would end elsewhere in the guest. */
	char longer[PATH_MAX];
	snprintf(longer, sizeof(longer), "../..%s/main/.git/worktrees/tree", strrchr(base, '/'));
	refused_detour(longer);

	/* Another form than the one in which the repository leads back. */
	refused("../main/.git/worktrees/tree");
	put(at("main/.git/worktrees/tree/gitdir"), "../../../../tree/.git\n");
	refused(at("main/.git/worktrees/tree"));
	/* A relative path leads into the guest's system. */
	assert_int_equal(rename(at("main/.git"), at("bin")), 0);
	put(at("bin/worktrees/tree/gitdir"), "../../../tree/.git\n");
	say_gitdir("../bin/worktrees/tree");
	refused_as(
		"/workspace",
		"which in the guest, seen from /workspace, is /bin, a directory of the guest's own system");
	refused_as("/usr/tree", "is /usr/bin, a directory of the guest's own system");
	expect("/work/tree", at("bin"), "/work/bin");
}

static json_t *share_of(const char *tag, const char *path, const char *mountpoint)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "tag", tag, "path", path, "mountpoint", mountpoint,
			 "mode", "rw");
}

static void add_refused(const char *path, const char *mountpoint, const char *why)
{
	json_auto_t *shares = json_pack("[o, o]", share_of("a", path, mountpoint),
					share_of("b", at("tree"), "/b"));
	struct error err = {0};

	assert_int_equal(share_git_add(shares, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	if (strncmp(err.msg, "config.shares[1]: ", 18) != 0 || !strstr(err.msg, why))
		fail_msg("%s", err.msg);
	assert_int_equal(json_array_size(shares), 2);
}

static void add_makes(const char *path, const char *mountpoint, size_t count)
{
	json_auto_t *shares = json_pack("[o, o]", share_of("a", path, mountpoint),
					share_of("b", at("tree"), "/b"));
	struct error err = {0};

	assert_ok(share_git_add(shares, &err));
	assert_int_equal(json_array_size(shares), count);
}

/* Access to one part of the host is no reason to give the guest more. */
static void beside_other_shares(void **state)
{
	(void)state;
	say_gitdir(at("main/.git/worktrees/tree"));
	add_makes(at("other"), "/a", 3);
	add_refused(at("main"), "/a", "/main/.git in the shared directory ");
	add_refused(at("main/.git/worktrees"), "/a", "/main/.git, which holds ");
	add_refused(at("main/.git/worktrees/tree"), "/a", "/main/.git, which holds ");
	/* The guest has it in the right place. */
	add_makes(at("main"), at("main"), 2);
	add_makes(at("main"), at("main/"), 2);
	add_makes(at("main/.git"), at("main/.git"), 2);
	/* The guest has it in another place, and none of its names is the guest's. */
	add_makes(at("main/.git"), "/a", 3);
}

static void it_is_added_once(void **state)
{
	json_auto_t *shares = json_array();
	struct error err = {0};

	(void)state;
	say_gitdir(at("main/.git/worktrees/tree"));
	for (size_t i = 0; i < 2; i++)
		json_array_append_new(shares,
				      json_pack("{s:s, s:s, s:s, s:s, s:b}", "tag", i ? "b" : "a",
						"path", at("tree"), "mountpoint",
						i ? "/two" : "/one", "mode", "ro", "anyway", 1));
	assert_ok(share_git_add(shares, &err));
	assert_int_equal(json_array_size(shares), 3);
	const json_t *added = json_array_get(shares, 2);
	assert_string_equal(json_string_value(json_object_get(added, "tag")), "git-1");
	assert_string_equal(json_string_value(json_object_get(added, "path")), at("main/.git"));
	assert_string_equal(json_string_value(json_object_get(added, "mode")), "ro");
	assert_true(json_is_true(json_object_get(added, "anyway")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_worktree_lacks_what_all_have_in_common, make,
						remove_all),
		cmocka_unit_test_setup_teardown(what_is_no_worktree_lacks_nothing, make,
						remove_all),
		cmocka_unit_test_setup_teardown(a_directory_that_does_not_lead_back, make,
						remove_all),
		cmocka_unit_test_setup_teardown(another_file_and_another_way, make, remove_all),
		cmocka_unit_test_setup_teardown(beside_other_shares, make, remove_all),
		cmocka_unit_test_setup_teardown(it_is_added_once, make, remove_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
