/* SPDX-License-Identifier: MIT */
/* Tests the patch of a guest's changes: git applies it, and then the directory is as the guest had it.
 * This program is microagent-artifact too, for review-extract. */
#include "review_image.h"

#include <sys/wait.h>

#include "base/program.h"
#include "store/review/apply.h"
#include "store/review/diff.h"

static struct built built;
static int scratch = -1;

static void image_begin(struct bed *bed)
{
	struct error err = {0};

	built = build(bed, "image", "list");
	scratch = bed_dir(bed->s, "scratch");
	review_list_free(&bed->list);
	assert_ok(review_list_read(built.list, &bed->list, &err));
}

static void image_end(const struct bed *bed)
{
	built_end(&built);
	close(scratch);
	assert_int_equal(path_remove_tree_at(bed->s->fd, "scratch", NULL), 0);
}

static struct review_image image_of_bed(void)
{
	return (struct review_image){
		.fd = built.image, .program = "/proc/self/exe", .scratch = scratch};
}

/* Returns the patch, which is also in the file "patch". */
static char *diff_paths(struct bed *bed, const char *const *paths, size_t count, bool colour)
{
	autoclose int out =
		openat(bed->s->fd, "patch", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	autofree char *path = strdup(scratch_path(bed->s, "scratch"));
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};
	const struct review_diff inputs = {.changes = &bed->changes,
					   .tree = bed->tree,
					   .paths = paths,
					   .path_count = count,
					   .image = image_of_bed(),
					   .scratch_path = path,
					   .out = out,
					   .colour = colour};

	assert_ok(review_diff(&inputs, &err));
	assert_ok(path_read_file_at(bed->s->fd, "patch", &text, &err));
	/* The next patch has an empty scratch directory again. */
	assert_int_equal(path_remove_tree_at(scratch, "old", NULL), 0);
	assert_int_equal(path_remove_tree_at(scratch, "repository", NULL), 0);
	return buf_steal_string(&text, &err);
}

/* Applies the patch to the reviewed directory by git. */
static void git_apply(const struct bed *bed)
{
	autofree char *patch = strdup(scratch_path(bed->s, "patch"));
	autofree char *host = strdup(scratch_path(bed->s, "host"));
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (chdir(host) < 0 || setenv("GIT_CEILING_DIRECTORIES", bed->s->path, 1) < 0)
			_exit(99);
		execlp("git", "git", "apply", patch, (char *)NULL);
		_exit(98);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("git apply failed");
}

static bool host_has_git(void)
{
	autofree char *git = program_in_path("git");

	return git != NULL;
}

#define NEEDS_GIT()                                        \
	do {                                               \
		if (!host_has_git()) {                     \
			print_message("no git is here\n"); \
			skip();                            \
		}                                          \
	} while (0)

static void git_applies_the_patch(void **state)
{
	static const char hostile[] = "n \"\\\n\x1b[31m\xff\x80";
	static const char binary[] = "\0\1\2\xff\n\r";
	struct bed bed;

	NEEDS_GIT();
	bed_begin(&bed, state);
	put_file(bed.host, "changed", "one\ntwo\n", 0644);
	put_file(bed.host, "mode", "text\n", 0644);
	put_file(bed.host, "removed", "gone", 0644);
	put_file(bed.host, "old name", "a long enough text\nto be renamed\nby git too\n", 0644);
	put_file(bed.host, "to link", "x", 0644);
	put_file(bed.host, "to dir", "x", 0644);
	put_dir(bed.host, "moved", 0755);
	put_file(bed.host, "moved/f", "in the moved directory\n", 0644);
	assert_int_equal(symlinkat("changed", bed.host, "moved/l"), 0);
	put_file(bed.host, "untouched", "same", 0644);
	image_begin(&bed);
	upper_file(&bed, "changed", "one\nzwei\n", 0644);
	upper_file(&bed, "mode", "text\n", 0755);
	whiteout(&bed, "removed");
	whiteout(&bed, "old name");
	upper_file(&bed, "new name", "a long enough text\nto be renamed\nby git too\n", 0644);
	upper_link(&bed, "to link", "changed");
	upper_dir(&bed, "to dir", 0755);
	upper_file(&bed, "to dir/below", "below\n", 0644);
	whiteout(&bed, "moved");
	upper_moved(&bed, "moved here", "/moved", 0755);
	upper_file(&bed, "empty", "", 0644);
	upper_file(&bed, hostile, "hostile\n", 0644);
	upper_file(&bed, "-o", "an option?", 0644);
	/* It would hide all texts from git, if git obeyed it. */
	upper_file(&bed, ".gitattributes", "* -diff\n* filter=evil\n", 0644);
	put_bytes(bed.tree, "binary", binary, sizeof(binary), 0600);
	claim(&bed, 'f', "binary", 0644, NULL);
	upper_link(&bed, "left out", "/etc");
	upper_dir(&bed, ".git", 0755);
	upper_file(&bed, ".git/config", "evil", 0644);
	bed_compare(&bed);
	autofree char *patch = diff_paths(&bed, NULL, 0, false);
	for (const char *const *at =
		     (const char *const[]){"-two\n+zwei\n",
					   "rename from old name\nrename to new name",
					   "rename from moved/f\nrename to moved here/f",
					   "old mode 100644\nnew mode 100755", "GIT binary patch",
					   "diff --git a/-o b/-o", NULL};
	     *at; at++)
		if (!strstr(patch, *at))
			fail_msg("\"%s\" is not in %s", *at, patch);
	for (const char *const *at =
		     (const char *const[]){"untouched", "left out", ".git/config", "\x1b", NULL};
	     *at; at++)
		if (strstr(patch, *at))
			fail_msg("\"%s\" is in %s", *at, patch);
	git_apply(&bed);
	check_file(bed.host, "changed", "one\nzwei\n");
	check_mode(bed.host, "mode", 0755);
	check_file(bed.host, "removed", NULL);
	check_file(bed.host, "old name", NULL);
	check_file(bed.host, "new name", "a long enough text\nto be renamed\nby git too\n");
	check_file(bed.host, "to dir/below", "below\n");
	check_file(bed.host, "moved/f", NULL);
	check_file(bed.host, "moved here/f", "in the moved directory\n");
	check_file(bed.host, "empty", "");
	check_file(bed.host, hostile, "hostile\n");
	check_file(bed.host, "untouched", "same");
	char target[64] = "";
	assert_true(readlinkat(bed.host, "to link", target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "changed");
	assert_true(readlinkat(bed.host, "moved here/l", target, sizeof(target) - 1) > 0);
	autobuf struct buf got = BUF_INIT(0);
	struct error err = {0};
	assert_ok(path_read_file_at(bed.host, "binary", &got, &err));
	assert_int_equal(got.len, sizeof(binary));
	assert_memory_equal(buf_bytes(&got), binary, sizeof(binary));
	/* For apply, the host has it all. */
	bed_compare(&bed);
	assert_int_equal(bed_change(&bed, "changed")->host, REVIEW_HOST_DONE);
	assert_int_equal(bed_change(&bed, "moved here/f")->host, REVIEW_HOST_DONE);
	image_end(&bed);
	bed_end(&bed);
}

static void paths_choose(void **state)
{
	const char *const one = "d", *const none = "none";
	struct error err = {0};
	struct bed bed;

	NEEDS_GIT();
	bed_begin(&bed, state);
	put_file(bed.host, "f", "f\n", 0644);
	image_begin(&bed);
	upper_file(&bed, "f", "g\n", 0644);
	upper_dir(&bed, "d", 0755);
	upper_file(&bed, "d/f", "x\n", 0644);
	bed_compare(&bed);
	autofree char *patch = diff_paths(&bed, &one, 1, false);
	assert_non_null(strstr(patch, "b/d/f"));
	assert_null(strstr(patch, "a/f"));
	autofree char *coloured = diff_paths(&bed, NULL, 0, true);
	assert_non_null(strstr(coloured, "\x1b[3"));
	const struct review_diff inputs = {.changes = &bed.changes,
					   .tree = bed.tree,
					   .paths = &none,
					   .path_count = 1,
					   .image = image_of_bed(),
					   .scratch_path = "/",
					   .out = -1};
	assert_int_equal(review_diff(&inputs, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	image_end(&bed);
	bed_end(&bed);
}

/* The user's own configuration, and that of the directory around, would run a program. */
static void no_configuration_counts(void **state)
{
	autofree char *before = NULL;
	struct bed bed;

	NEEDS_GIT();
	bed_begin(&bed, state);
	put_file(bed.host, "f", "f\n", 0644);
	put_file(bed.s->fd, ".gitconfig",
		 "[diff]\n\texternal = false\n\tnoprefix = true\n[color]\n\tui = always\n", 0644);
	before = strdup(getenv("HOME") ? getenv("HOME") : "/");
	assert_int_equal(setenv("HOME", bed.s->path, 1), 0);
	assert_int_equal(setenv("GIT_EXTERNAL_DIFF", "false", 1), 0);
	image_begin(&bed);
	upper_file(&bed, "f", "g\n", 0644);
	bed_compare(&bed);
	autofree char *patch = diff_paths(&bed, NULL, 0, false);
	assert_non_null(strstr(patch, "--- a/f\n+++ b/f\n"));
	assert_int_equal(setenv("HOME", before, 1), 0);
	unsetenv("GIT_EXTERNAL_DIFF");
	image_end(&bed);
	bed_end(&bed);
}

static void hosts_without_git(void **state)
{
	autofree char *before = strdup(getenv("PATH") ? getenv("PATH") : "");
	struct error err = {0};
	struct bed bed;

	bed_begin(&bed, state);
	const struct review_diff inputs = {.changes = &bed.changes, .tree = bed.tree, .out = -1};
	assert_int_equal(setenv("PATH", bed.s->path, 1), 0);
	assert_int_equal(review_diff(&inputs, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "git"));
	assert_int_equal(setenv("PATH", before, 1), 0);
	bed_end(&bed);
}

static void contents_that_are_missing(void **state)
{
	struct error err = {0};
	struct bed bed;

	NEEDS_GIT();
	bed_begin(&bed, state);
	put_file(bed.host, "f", "f\n", 0644);
	image_begin(&bed);
	upper_file(&bed, "f", "g\n", 0644);
	bed_compare(&bed);
	assert_int_equal(unlinkat(bed.tree, "f", 0), 0);
	autofree char *path = strdup(scratch_path(bed.s, "scratch"));
	autoclose int out = openat(bed.s->fd, "patch", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	const struct review_diff inputs = {.changes = &bed.changes,
					   .tree = bed.tree,
					   .image = image_of_bed(),
					   .scratch_path = path,
					   .out = out};
	assert_int_equal(review_diff(&inputs, &err), -1);
	assert_code(err, ERR_IO);
	image_end(&bed);
	bed_end(&bed);
}

/* Directories that have changed their names: apply takes the contents out of the image. */
static void apply_takes_files_of_the_image(void **state)
{
	struct error err = {0};
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "a", 0755);
	put_file(bed.host, "a/f", "of a", 0644);
	put_dir(bed.host, "b", 0755);
	put_file(bed.host, "b/f", "of b", 0600);
	image_begin(&bed);
	upper_moved(&bed, "a", "/b", 0755);
	upper_moved(&bed, "b", "/a", 0755);
	bed_compare(&bed);
	const struct review_apply inputs = {.list = &bed.list,
					    .changes = &bed.changes,
					    .tree = bed.tree,
					    .host = bed.host,
					    .image = image_of_bed()};
	json_auto_t *result = review_apply(&inputs, &err);
	if (!result)
		fail_msg("%s", err.msg);
	assert_int_equal(json_array_size(json_object_get(result, "conflicts")), 0);
	check_file(bed.host, "a/f", "of b");
	check_mode(bed.host, "a/f", 0600);
	check_file(bed.host, "b/f", "of a");
	image_end(&bed);
	bed_end(&bed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(git_applies_the_patch),	 TEST(paths_choose),
		TEST(no_configuration_counts),	 TEST(hosts_without_git),
		TEST(contents_that_are_missing), TEST(apply_takes_files_of_the_image),
	};

	if (argc > 1 && strcmp(argv[1], "review-extract") == 0) {
		const struct artifact_options opts = {.from_fd = argv[3], .fd = argv[5]};
		struct error err = {0};

		if (artifact_review_extract(&opts, &err) == 0)
			return 0;
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
