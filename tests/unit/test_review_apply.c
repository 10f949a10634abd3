/* SPDX-License-Identifier: MIT */
/* Tests how changes of a guest are brought to the reviewed directory. */
#include "review_fixture.h"

#include <sched.h>
#include <strings.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "store/review/apply.h"
#include "test_base_path.h"

/* --- a file system that ignores the case of letters ------------------------------------------ */

/* ext4 with casefold is not in each kernel, so the calls that look up a name are replaced here by
 * some that do so, if this is set. */
static bool folds;

/* Returns the stored name that the file system takes for `name`; NULL: none. */
static const char *fold(int dir, const char *name, char stored[256])
{
	const struct dirent *entry;
	const char *found = NULL;
	DIR *stream;
	int fd;

	if (!folds || !*name || strchr(name, '/') || strcmp(name, ".") == 0)
		return NULL;
	fd = (int)syscall(SYS_openat, dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	stream = fd < 0 ? NULL : fdopendir(fd);
	while (stream && (entry = readdir(stream)))
		if (strcasecmp(entry->d_name, name) == 0 &&
		    (!found || strcmp(entry->d_name, name) == 0))
			found = strcpy(stored, entry->d_name);
	if (stream)
		closedir(stream);
	return found;
}

int openat(int dir, const char *name, int flags, ...)
{
	char stored[256];
	const char *other = fold(dir, name, stored);
	va_list more;

	va_start(more, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
	va_end(more);
	return (int)syscall(SYS_openat, dir, other ? other : name, flags, mode);
}
int fstatat(int dir, const char *restrict name, struct stat *restrict st, int flags)
{
	char stored[256];
	const char *other = fold(dir, name, stored);

	return (int)syscall(SYS_newfstatat, dir, other ? other : name, st, flags);
}
int mkdirat(int dir, const char *name, mode_t mode)
{
	char stored[256];
	const char *other = fold(dir, name, stored);

	return (int)syscall(SYS_mkdirat, dir, other ? other : name, mode);
}

/* --- applying -------------------------------------------------------------------------------- */

static json_t *apply_paths(struct bed *bed, const char *const *paths, size_t count)
{
	struct error err = {0};
	const struct review_apply inputs = {.list = &bed->list,
					    .changes = &bed->changes,
					    .tree = bed->tree,
					    .host = bed->host,
					    .paths = paths,
					    .path_count = count,
					    .image = {.fd = -1}};
	json_t *result = review_apply(&inputs, &err);

	if (!result)
		fail_msg("%s", err.msg);
	return result;
}

/* Compares and applies everything, or a path. */
static json_t *apply(struct bed *bed, const char *path)
{
	bed_compare(bed);
	return apply_paths(bed, &path, path ? 1 : 0);
}

/* Checks the paths in one list of a result, separated by blanks. */
static void check_paths(const json_t *result, const char *key, const char *expected)
{
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};
	json_t *one;
	size_t i;

	assert_true(json_is_array(json_object_get(result, key)));
	json_array_foreach(json_object_get(result, key), i, one)
	{
		assert_ok(
			buf_printf(&text, &err, "%s%s", i ? " " : "", json_text(one, "path", "")));
		assert_true(strlen(json_text(one,
					     strcmp(key, "applied") == 0   ? "kind"
					     : strcmp(key, "unnamed") == 0 ? "by"
									   : "why",
					     "")) > 3);
	}
	if (strcmp(buf_string(&text), expected) != 0)
		fail_msg("%s: \"%s\" and not \"%s\"", key, buf_string(&text), expected);
}

/* Checks a whole result: applied, conflicts, left out, and unnamed. */
static void check_result(json_t *result, const char *applied, const char *conflicts,
			 const char *left_out, const char *unnamed)
{
	check_paths(result, "conflicts", conflicts);
	check_paths(result, "applied", applied);
	check_paths(result, "leftOut", left_out);
	check_paths(result, "unnamed", unnamed);
	assert_null(json_object_get(result, "failed"));
	json_decref(result);
}

static char *describe(const struct bed *bed)
{
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};

	describe_dir(bed->host, "", &text);
	return buf_steal_string(&text, &err);
}

/* Begins a directory with a change of each kind. */
static void begin_with_all_kinds(struct bed *bed, void **state)
{
	bed_begin(bed, state);
	put_file(bed->host, "changed", "old", 0644);
	put_file(bed->host, "kept", "kept", 0600);
	put_file(bed->host, "mode", "text", 0644);
	put_file(bed->host, "removed", "gone", 0644);
	put_file(bed->host, "old name", "long text", 0644);
	put_file(bed->host, "old name 2", "longer text", 0644);
	put_file(bed->host, "to dir", "x", 0644);
	put_file(bed->host, "to link", "x", 0644);
	put_dir(bed->host, "to file", 0755);
	put_dir(bed->host, "to file/d", 0755);
	put_file(bed->host, "to file/d/below", "x1", 0644);
	put_file(bed->host, "to file/moved out", "moved out", 0644);
	put_dir(bed->host, "to file/dir out", 0755);
	put_file(bed->host, "to file/dir out/f", "in dir out", 0644);
	put_dir(bed->host, "dir", 0755);
	put_file(bed->host, "dir/f", "f", 0644);
	put_dir(bed->host, "a", 0755);
	put_file(bed->host, "a/x", "of a", 0644);
	put_dir(bed->host, "a/sub", 0700);
	put_file(bed->host, "a/sub/y", "of sub", 0640);
	assert_int_equal(symlinkat("x", bed->host, "a/l"), 0);
	assert_int_equal(symlinkat("changed", bed->host, "link"), 0);
	bed_take(bed);
	upper_file(bed, "added", "new", 0644);
	upper_file(bed, "changed", "new text", 0644);
	upper_dir(bed, "closed", 0500);
	upper_file(bed, "closed/f", "in closed", 0400);
	upper_dir(bed, "dir", 0700);
	upper_file(bed, "dir/f", "f2", 0755);
	upper_link(bed, "link", "kept");
	upper_file(bed, "mode", "text", 0755);
	whiteout(bed, "old name");
	upper_file(bed, "new name", "long text", 0644);
	whiteout(bed, "old name 2");
	upper_file(bed, "new name 2", "longer text", 0600);
	whiteout(bed, "removed");
	upper_dir(bed, "to dir", 0755);
	upper_file(bed, "to dir/f", "", 0644);
	upper_file(bed, "to file", "now a file", 0644);
	upper_file(bed, "was in to file", "moved out", 0644);
	upper_link(bed, "to link", "added");
	upper_moved(bed, "out", "/to file/dir out", 0755);
	whiteout(bed, "a");
	upper_moved(bed, "b", "/a", 0755);
	upper_dir(bed, "b/sub", 0700);
	upper_file(bed, "b/sub/z", "new in sub", 0644);
}

static const char wanted[] = "100644 added new\n"
			     "40755 b \n"
			     "120777 b/l x\n"
			     "40700 b/sub \n"
			     "100640 b/sub/y of sub\n"
			     "100644 b/sub/z new in sub\n"
			     "100644 b/x of a\n"
			     "100644 changed new text\n"
			     "40500 closed \n"
			     "100400 closed/f in closed\n"
			     "40700 dir \n"
			     "100755 dir/f f2\n"
			     "100600 kept kept\n"
			     "120777 link kept\n"
			     "100755 mode text\n"
			     "100644 new name long text\n"
			     "100600 new name 2 longer text\n"
			     "40755 out \n"
			     "100644 out/f in dir out\n"
			     "40755 to dir \n"
			     "100644 to dir/f \n"
			     "100644 to file now a file\n"
			     "120777 to link added\n"
			     "100644 was in to file moved out\n";

static void all_kinds_are_applied(void **state)
{
	struct bed bed;
	struct stat before, after;

	begin_with_all_kinds(&bed, state);
	assert_int_equal(fstatat(bed.host, "a/x", &before, 0), 0);
	json_t *result = apply(&bed, NULL);
	check_paths(result, "conflicts", "");
	assert_int_equal(json_array_size(json_object_get(result, "applied")), bed.changes.count);
	json_decref(result);
	autofree char *got = describe(&bed);
	assert_string_equal(got, wanted);
	/* A renamed file is the same file, with its time. */
	assert_int_equal(fstatat(bed.host, "b/x", &after, 0), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	/* Once more: the host has everything. */
	result = apply(&bed, NULL);
	assert_int_equal(json_integer_value(json_object_get(result, "already")), bed.changes.count);
	check_result(result, "", "", "", "");
	bed_end(&bed);
}

/* --- ends in the middle ---------------------------------------------------------------------- */

struct countdown {
	int left;
};

static void end_at_step(void *data, const char *path)
{
	struct countdown *countdown = data;

	(void)path;
	if (countdown->left-- == 0)
		_exit(9);
}

/* Ends the process before the step with that number. Returns whether there was such a step. */
static bool kill_at(struct bed *bed, int number)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct countdown countdown = {number};
		struct error err = {0};
		const struct review_apply inputs = {.list = &bed->list,
						    .changes = &bed->changes,
						    .tree = bed->tree,
						    .host = bed->host,
						    .image = {.fd = -1},
						    .step = end_at_step,
						    .data = &countdown};
		json_t *result = review_apply(&inputs, &err);

		_exit(result ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9));
	return WEXITSTATUS(status) == 9;
}

static void a_run_that_was_killed_can_be_repeated(void **state)
{
	const struct scratch *s = *state;
	bool more = true;
	int steps = 0;

	for (; more; steps++) {
		struct bed bed;

		begin_with_all_kinds(&bed, state);
		bed_compare(&bed);
		more = kill_at(&bed, steps);
		json_t *result = apply(&bed, NULL);
		check_paths(result, "conflicts", "");
		check_paths(result, "leftOut", "");
		assert_null(json_object_get(result, "failed"));
		json_decref(result);
		autofree char *got = describe(&bed);
		if (strcmp(got, wanted) != 0)
			fail_msg("killed at step %d: %s", steps, got);
		bed_end(&bed);
		assert_int_equal(path_remove_tree_at(s->fd, "host", NULL), 0);
		assert_int_equal(path_remove_tree_at(s->fd, "tree", NULL), 0);
	}
	assert_true(steps > 30);
}

/* --- the host at each step ------------------------------------------------------------------- */

/* Puts something else into the place of a file of the host, at a step of its change. */
struct swap {
	struct bed *bed;
	const char *at, *name; /* the path of the change, and that of the file */
	const char *link;      /* the target of a link; NULL: a file */
	int before;	       /* the steps of the change before it */
};

static void swap_at_step(void *data, const char *path)
{
	struct swap *swap = data;

	if (strcmp(path, swap->at) != 0 || swap->before-- != 0)
		return;
	assert_int_equal(renameat(swap->bed->host, swap->name, swap->bed->s->fd, "away"), 0);
	if (swap->link)
		assert_int_equal(symlinkat(swap->link, swap->bed->host, swap->name), 0);
	else
		put_file(swap->bed->host, swap->name, "of the host", 0644);
}

static void check_swap(struct bed *bed, const char *at, const char *name, const char *link,
		       int before)
{
	struct swap swap = {bed, at, name, link, before};
	struct error err = {0};

	bed_compare(bed);
	const struct review_apply inputs = {.list = &bed->list,
					    .changes = &bed->changes,
					    .tree = bed->tree,
					    .host = bed->host,
					    .paths = &at,
					    .path_count = 1,
					    .image = {.fd = -1},
					    .step = swap_at_step,
					    .data = &swap};
	json_auto_t *result = review_apply(&inputs, &err);
	assert_non_null(result);
	check_paths(result, "conflicts", at);
	if (!link)
		check_file(bed->host, name, "of the host");
}

static void each_step_looks_again(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	for (const char *const *at =
		     (const char *const[]){"changed", "copied", "moved", "removed", "to dir", NULL};
	     *at; at++)
		put_file(bed.host, *at, *at, 0644);
	bed_take(&bed);
	upper_file(&bed, "changed", "new", 0644);
	whiteout(&bed, "copied");
	upper_file(&bed, "new copy", "copied", 0755);
	whiteout(&bed, "moved");
	upper_file(&bed, "new name", "moved", 0644);
	whiteout(&bed, "removed");
	upper_dir(&bed, "to dir", 0755);
	upper_dir(&bed, "dir", 0755);
	check_swap(&bed, "changed", "changed", NULL, 1);
	check_swap(&bed, "new copy", "copied", NULL, 1);
	check_swap(&bed, "new name", "moved", NULL, 0);
	check_swap(&bed, "removed", "removed", NULL, 0);
	check_swap(&bed, "to dir", "to dir", NULL, 0);
	/* The mode of a directory that was just made is not given to what a link leads to. */
	put_dir(bed.s->fd, "outside", 0700);
	umask(077);
	assert_int_equal(unlinkat(bed.s->fd, "away", 0), 0);
	check_swap(&bed, "dir", "dir", "../outside", 1);
	umask(022);
	check_mode(bed.s->fd, "outside", 0700);
	bed_end(&bed);
}

/* --- conflicts ------------------------------------------------------------------------------- */

static void the_hosts_edits_stay(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_file(bed.host, "changed", "old", 0644);
	put_file(bed.host, "fine", "old", 0644);
	put_file(bed.host, "gone", "old", 0644);
	put_dir(bed.host, "linked", 0755);
	put_file(bed.host, "linked/f", "old", 0644);
	put_file(bed.host, "removed", "old", 0644);
	put_dir(bed.host, "removed-dir", 0755);
	put_file(bed.host, "removed-dir/f", "old", 0644);
	bed_take(&bed);
	upper_file(&bed, "added", "guest's", 0644);
	upper_file(&bed, "changed", "guest's", 0644);
	upper_file(&bed, "fine", "guest's", 0644);
	upper_file(&bed, "gone", "guest's", 0644);
	upper_dir(&bed, "linked", 0755);
	upper_file(&bed, "linked/f", "guest's", 0644);
	upper_file(&bed, "linked/new", "guest's", 0644);
	upper_dir(&bed, "newdir", 0755);
	upper_file(&bed, "newdir/f", "guest's", 0644);
	whiteout(&bed, "removed");
	whiteout(&bed, "removed-dir");
	bed_compare(&bed);
	/* Everything changes between the list and apply. */
	put_file(bed.host, "added", "host's", 0644);
	put_file(bed.host, "changed", "abc", 0644);
	assert_int_equal(unlinkat(bed.host, "gone", 0), 0);
	assert_int_equal(renameat(bed.host, "linked", bed.s->fd, "outside"), 0);
	assert_int_equal(symlinkat("../outside", bed.host, "linked"), 0);
	assert_int_equal(symlinkat("../outside", bed.host, "newdir"), 0);
	put_file(bed.host, "removed", "host's", 0644);
	put_file(bed.host, "removed-dir/another", "host's", 0644);
	check_result(apply_paths(&bed, NULL, 0), "fine removed-dir/f",
		     "added changed gone linked/f linked/new newdir newdir/f removed removed-dir",
		     "", "");
	check_file(bed.host, "added", "host's");
	check_file(bed.host, "changed", "abc");
	check_file(bed.host, "fine", "guest's");
	check_file(bed.host, "removed", "host's");
	check_file(bed.s->fd, "outside/f", "old");
	check_file(bed.s->fd, "outside/new", NULL);
	check_file(bed.host, "removed-dir/another", "host's");
	bed_end(&bed);
}

/* The copy was changed behind the list: nothing of it comes to the host. */
static void only_what_was_shown_is_applied(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	bed_take(&bed);
	upper_file(&bed, "longer", "shown", 0644);
	upper_file(&bed, "other", "shown", 0644);
	upper_file(&bed, "shorter", "shown", 0644);
	upper_file(&bed, "swapped", "shown", 0644);
	upper_file(&bed, "twin", "shown", 0644);
	bed_compare(&bed);
	put_file(bed.tree, "longer", "shown and more", 0600);
	put_file(bed.tree, "other", "SHOWN", 0600);
	put_file(bed.tree, "shorter", "sho", 0600);
	put_file(bed.s->fd, "secret", "shown", 0600);
	assert_int_equal(unlinkat(bed.tree, "swapped", 0), 0);
	assert_int_equal(symlinkat("../secret", bed.tree, "swapped"), 0);
	check_result(apply_paths(&bed, NULL, 0), "twin", "longer other shorter swapped", "", "");
	autofree char *got = describe(&bed);
	assert_string_equal(got, "100644 twin shown\n");
	bed_end(&bed);
}

static void what_is_left_out_never_comes(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "d", 0755);
	put_file(bed.host, "d/f", "f", 0644);
	put_file(bed.host, "su", "old", 04755);
	bed_take(&bed);
	upper_link(&bed, "d", "/tmp");
	claim(&bed, 's', "device", 0, "");
	upper_link(&bed, "out", "../../etc");
	upper_file(&bed, "setuid", "x", 04755);
	upper_file(&bed, "su", "new", 0755);
	claim(&bed, 'f', "../x", 0644, NULL);
	check_result(apply(&bed, NULL), "su", "", "../x d device out setuid", "");
	check_file(bed.host, "d/f", "f");
	/* A set-ID bit of the host does not pass to the guest's contents. */
	check_mode(bed.host, "su", 0755);
	check_file(bed.s->fd, "x", NULL);
	bed_end(&bed);
}

/* A file of the host may have a name outside of the directory. Nothing is done to that one. */
static void hard_links_of_the_host(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	for (const char *const *at = (const char *const[]){"contents", "mode", "renamed", NULL};
	     *at; at++) {
		autofree char *outside = NULL;

		assert_true(asprintf(&outside, "out-%s", *at) > 0);
		put_file(bed.host, *at, *at, 0644);
		assert_int_equal(linkat(bed.host, *at, bed.s->fd, outside, 0), 0);
	}
	bed_take(&bed);
	upper_file(&bed, "contents", "guest's", 0644);
	upper_file(&bed, "mode", "mode", 0755);
	whiteout(&bed, "renamed");
	upper_file(&bed, "new", "renamed", 0755);
	check_result(apply(&bed, NULL), "contents mode new", "", "", "");
	for (const char *const *at = (const char *const[]){"contents", "mode", "renamed", NULL};
	     *at; at++) {
		autofree char *outside = NULL;

		assert_true(asprintf(&outside, "out-%s", *at) > 0);
		check_file(bed.s->fd, outside, *at);
		check_mode(bed.s->fd, outside, 0644);
	}
	check_file(bed.host, "contents", "guest's");
	check_mode(bed.host, "mode", 0755);
	check_mode(bed.host, "new", 0755);
	check_file(bed.host, "renamed", NULL);
	bed_end(&bed);
}

/* Two directories that changed their names: the contents are where they belong, or it is a conflict. */
static void directories_change_places(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "a", 0755);
	put_file(bed.host, "a/f", "of a", 0644);
	put_dir(bed.host, "b", 0755);
	put_file(bed.host, "b/f", "of b", 0644);
	bed_take(&bed);
	upper_moved(&bed, "a", "/b", 0755);
	upper_moved(&bed, "b", "/a", 0755);
	/* Without the image the second one has no source any more. */
	check_result(apply(&bed, NULL), "a/f", "b/f", "", "");
	check_file(bed.host, "a/f", "of b");
	check_file(bed.host, "b/f", "of b");
	bed_end(&bed);
}

/* --- case ------------------------------------------------------------------------------------ */

static void names_with_other_letters(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_file(bed.host, "file", "host's", 0644);
	put_dir(bed.host, "dir", 0755);
	put_file(bed.host, "dir/f", "host's", 0644);
	put_file(bed.host, "same", "old", 0644);
	bed_take(&bed);
	upper_dir(&bed, "DIR", 0755);
	upper_file(&bed, "DIR/f", "guest's", 0644);
	upper_file(&bed, "DIR/g", "guest's", 0644);
	upper_file(&bed, "File", "guest's", 0644);
	upper_file(&bed, "Twin", "guest's first", 0644);
	upper_file(&bed, "same", "guest's", 0644);
	upper_file(&bed, "twin", "guest's second", 0644);
	upper_dir(&bed, "Two", 0755);
	upper_file(&bed, "Two/f", "first", 0644);
	upper_dir(&bed, "two", 0755);
	upper_file(&bed, "two/f", "second", 0644);
	folds = true;
	check_result(apply(&bed, NULL), "Twin Two Two/f same",
		     "DIR DIR/f DIR/g File twin two two/f", "", "");
	folds = false;
	check_file(bed.host, "file", "host's");
	check_file(bed.host, "dir/f", "host's");
	check_file(bed.host, "dir/g", NULL);
	check_file(bed.host, "same", "guest's");
	check_file(bed.host, "Twin", "guest's first");
	check_file(bed.host, "Two/f", "first");
	/* On a host that tells the letters apart all of them are files. */
	json_t *result = apply(&bed, NULL);
	check_paths(result, "conflicts", "");
	json_decref(result);
	check_file(bed.host, "DIR/g", "guest's");
	check_file(bed.host, "twin", "guest's second");
	bed_end(&bed);
}

/* --- the choice ------------------------------------------------------------------------------ */

static void apply_fails(struct bed *bed, const char *path, enum error_code code)
{
	struct error err = {0};
	const struct review_apply inputs = {.list = &bed->list,
					    .changes = &bed->changes,
					    .tree = bed->tree,
					    .host = bed->host,
					    .paths = &path,
					    .path_count = 1,
					    .image = {.fd = -1}};

	assert_null(review_apply(&inputs, &err));
	assert_code(err, code);
}

static void paths_choose(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "old", 0755);
	put_file(bed.host, "old/1", "contents 1", 0644);
	put_file(bed.host, "old/2", "contents 2", 0644);
	bed_take(&bed);
	upper_file(&bed, "a", "a", 0644);
	upper_file(&bed, "a.c", "a.c", 0644);
	upper_dir(&bed, "n", 0755);
	upper_dir(&bed, "n/m", 0755);
	upper_file(&bed, "n/m/f", "f", 0644);
	upper_file(&bed, "n/m/g", "g", 0644);
	whiteout(&bed, "old");
	upper_moved(&bed, "new", "/old", 0755);
	bed_compare(&bed);
	apply_fails(&bed, "no", ERR_NOT_FOUND);
	apply_fails(&bed, "a/b", ERR_NOT_FOUND);
	apply_fails(&bed, "../host/a", ERR_INVALID);
	apply_fails(&bed, "/a", ERR_INVALID);
	apply_fails(&bed, "", ERR_INVALID);
	check_file(bed.host, "a", NULL);
	check_result(apply(&bed, "a"), "a", "", "", "");
	check_file(bed.host, "a.c", NULL);
	/* The directories of a file are made with it. */
	check_result(apply(&bed, ".//n/m/f/"), "n n/m n/m/f", "", "", "");
	check_file(bed.host, "n/m/g", NULL);
	check_result(apply(&bed, "./n/"), "n/m/g", "", "", "");
	/* One file of a moved directory, by its old name. */
	check_result(apply(&bed, "old/1"), "new new/1", "", "", "");
	check_file(bed.host, "old/1", NULL);
	check_file(bed.host, "old/2", "contents 2");
	check_result(apply(&bed, "new"), "new new/2", "", "", "");
	check_file(bed.host, "old", NULL);
	check_result(apply(&bed, "."), "a.c", "", "", "");
	bed_end(&bed);
}

static void autorun_files_are_named(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	bed_take(&bed);
	upper_dir(&bed, ".git", 0755);
	upper_file(&bed, ".git/config", "evil", 0644);
	upper_file(&bed, ".git/index", "x", 0644);
	upper_file(&bed, "Makefile", "evil", 0644);
	upper_dir(&bed, "sub", 0755);
	upper_dir(&bed, "sub/.git", 0755);
	upper_file(&bed, "sub/.git/HEAD", "x", 0644);
	upper_file(&bed, "sub/Makefile", "evil", 0644);
	upper_file(&bed, "sub/f", "f", 0644);
	check_result(apply(&bed, NULL), "sub sub/f", "", "",
		     ".git .git/config .git/index Makefile sub/.git sub/.git/HEAD sub/Makefile");
	check_result(apply(&bed, "."), "", "", "",
		     ".git .git/config .git/index Makefile sub/.git sub/.git/HEAD sub/Makefile");
	/* A directory names the autorun files in it, but never those of git. */
	check_result(apply(&bed, "sub"), "sub/Makefile", "", "", "sub/.git sub/.git/HEAD");
	check_result(apply(&bed, "Makefile"), "Makefile", "", "", "");
	check_result(apply(&bed, ".git"), ".git", "", "", ".git/config .git/index");
	check_result(apply(&bed, "sub/.git/HEAD"), "sub/.git sub/.git/HEAD", "", "", "");
	check_file(bed.host, ".git/config", NULL);
	bed_end(&bed);
}

/* A guest removes ordinary files and gives autorun files the same contents, or moves their directory.
 */
static void an_old_path_names_no_autorun_file(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "src", 0755);
	put_file(bed.host, "src/notes", "echo evil", 0644);
	put_file(bed.host, "src/deploy.sh", "echo hook", 0755);
	put_dir(bed.host, "src/tasks", 0755);
	put_file(bed.host, "src/tasks/x", "x of tasks", 0644);
	bed_take(&bed);
	upper_dir(&bed, "src", 0755);
	whiteout(&bed, "src/notes");
	whiteout(&bed, "src/deploy.sh");
	whiteout(&bed, "src/tasks");
	upper_file(&bed, ".envrc", "echo evil", 0644);
	upper_dir(&bed, ".git", 0755);
	upper_dir(&bed, ".git/hooks", 0755);
	upper_file(&bed, ".git/hooks/pre-commit", "echo hook", 0755);
	upper_moved(&bed, ".vscode", "/src/tasks", 0755);
	check_result(apply(&bed, "src/deploy.sh"), "src/deploy.sh", "", "", "");
	check_result(apply(&bed, "src/tasks/x"), "", "", "", ".vscode/x");
	check_result(apply(&bed, "src"), ".vscode src/notes", "", "", ".vscode/x");
	check_file(bed.host, ".envrc", NULL);
	check_file(bed.host, ".git/hooks/pre-commit", NULL);
	check_file(bed.host, ".vscode/x", NULL);
	check_result(apply(&bed, ".vscode/x"), ".vscode/x", "", "", "");
	bed_end(&bed);
}

/* A guest takes HEAD away, or brings the parts of a repository one by one. */
static void no_repository_is_completed_without_a_name(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "bare", 0755);
	put_file(bed.host, "bare/HEAD", "of the host", 0644);
	put_dir(bed.host, "bare/objects", 0755);
	put_dir(bed.host, "bare/refs", 0755);
	bed_take(&bed);
	upper_dir(&bed, "bare", 0755);
	whiteout(&bed, "bare/HEAD");
	upper_file(&bed, "bare/config", "evil", 0644);
	upper_dir(&bed, "bare/hooks", 0755);
	upper_file(&bed, "bare/hooks/post-update", "evil", 0755);
	upper_file(&bed, "copy of it", "of the host", 0644);
	check_result(apply(&bed, NULL), "bare/hooks copy of it", "", "",
		     "bare/HEAD bare/config bare/hooks/post-update");
	/* Everything but objects and refs comes without a name, but those do not. */
	upper_dir(&bed, "ev", 0755);
	upper_file(&bed, "ev/config", "evil", 0644);
	check_result(apply(&bed, NULL), "ev ev/config", "", "",
		     "bare/HEAD bare/config bare/hooks/post-update");
	upper_file(&bed, "ev/HEAD", "x", 0644);
	bed_compare(&bed);
	/* The host has changed since the comparison. */
	put_dir(bed.host, "ev/objects", 0755);
	put_dir(bed.host, "ev/refs", 0755);
	check_result(apply_paths(&bed, NULL, 0), "", "", "",
		     "bare/HEAD bare/config bare/hooks/post-update ev/HEAD ev/config");
	assert_int_equal(unlinkat(bed.host, "ev/refs", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(bed.host, "ev/objects", AT_REMOVEDIR), 0);
	put_file(bed.host, "ev/HEAD", "x", 0644);
	upper_dir(&bed, "ev/objects", 0755);
	upper_file(&bed, "ev/objects/x", "x", 0644);
	upper_dir(&bed, "ev/refs", 0755);
	upper_file(&bed, "ev/refs/x", "x", 0644);
	check_result(apply(&bed, NULL), "", "", "",
		     "bare/HEAD bare/config bare/hooks/post-update ev/HEAD ev/config ev/objects "
		     "ev/objects/x ev/refs ev/refs/x");
	check_result(apply(&bed, "ev"), "ev/objects ev/objects/x ev/refs ev/refs/x", "", "", "");
	bed_end(&bed);
}

/* A guest's disk image has few data. */
static void holes_stay_holes(void **state)
{
	const off_t size = (off_t)16 << 20;
	struct bed bed;
	struct stat st;
	char got[5] = "";

	bed_begin(&bed, state);
	bed_take(&bed);
	put_file(bed.tree, "image", "begin", 0600);
	autoclose int image = openat(bed.tree, "image", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(image, "mid", 3, 5000001), 3);
	assert_int_equal(ftruncate(image, size), 0);
	claim(&bed, 'f', "image", 0644, NULL);
	check_result(apply(&bed, NULL), "image", "", "", "");
	assert_int_equal(fstatat(bed.host, "image", &st, 0), 0);
	assert_int_equal(st.st_size, size);
	assert_true((off_t)st.st_blocks * 512 < size / 4);
	autoclose int copy = openat(bed.host, "image", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(copy, got, 5, 5000000), 5);
	assert_memory_equal(got, "\0mid\0", 5);
	bed_end(&bed);
}

/* --- hosts ----------------------------------------------------------------------------------- */

/* 77: this machine gives no mount namespace. */
static int apply_on_a_full_disk(void **state)
{
	static char data[40000];
	struct bed bed = {.s = *state};
	char path[128];
	int result = 0;

	snprintf(path, sizeof(path), "%s/small", bed.s->path);
	if (mkdir(path, 0755) < 0 || !enter_mount_namespace() ||
	    mount("tmpfs", path, "tmpfs", 0, "size=128k") < 0)
		return 77;
	bed.host = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bed.tree = bed_dir(bed.s, "tree");
	put_file(bed.host, "b", "old", 0644);
	bed_take(&bed);
	for (const char *const *at = (const char *const[]){"a", "b", "c", "d", "e", NULL}; *at;
	     at++) {
		memset(data, **at, sizeof(data));
		put_bytes(bed.tree, *at, data, sizeof(data), 0600);
		claim(&bed, 'f', *at, 0644, NULL);
	}
	bed_compare(&bed);
	json_auto_t *first = apply_paths(&bed, NULL, 0);
	const json_t *failed = json_object_get(first, "failed");
	check_paths(first, "applied", "a b c");
	check_paths(first, "conflicts", "");
	if (strcmp(json_text(failed, "path", ""), "d") != 0 ||
	    !strstr(json_text(failed, "error", ""), "space"))
		result = 1;
	/* Nothing is half, and nothing is left over. */
	check_file(bed.host, "d", NULL);
	for (const char *const *at = (const char *const[]){"a", "b", "c", NULL}; *at; at++) {
		struct stat st;

		if (fstatat(bed.host, *at, &st, 0) < 0 || st.st_size != (off_t)sizeof(data))
			result = 2;
	}
	/* With room the rest comes. */
	if (mount("tmpfs", path, "tmpfs", MS_REMOUNT, "size=1m") < 0)
		return 77;
	json_auto_t *second = apply(&bed, NULL);
	check_paths(second, "applied", "d e");
	assert_int_equal(json_integer_value(json_object_get(second, "already")), 3);
	return result;
}

static void a_full_disk(void **state)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(apply_on_a_full_disk(state));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("this machine gives no mount namespace\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void hostile_names(void **state)
{
	static const char name[] = "n\n\x1b[31m\xff\xc0\x80";
	struct bed bed;

	bed_begin(&bed, state);
	bed_take(&bed);
	upper_file(&bed, name, "x", 0644);
	json_auto_t *result = apply(&bed, name);
	const json_t *one = json_array_get(json_object_get(result, "applied"), 0);
	assert_string_equal(json_text(one, "kind", ""), "added");
	assert_true(strlen(json_text(one, "pathBase64", "")) > 8);
	check_file(bed.host, name, "x");
	bed_end(&bed);
}

/* A directory that a change opens is written to, and one that a change closes too. */
static void directories_that_may_not_be_written(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "closed", 0755);
	put_dir(bed.host, "opened", 0755);
	put_file(bed.host, "closed/old", "old", 0644);
	assert_int_equal(fchmodat(bed.host, "opened", 0555, 0), 0);
	bed_take(&bed);
	upper_dir(&bed, "closed", 0555);
	upper_file(&bed, "closed/new", "new", 0644);
	whiteout(&bed, "closed/old");
	upper_dir(&bed, "opened", 0755);
	upper_file(&bed, "opened/new", "new", 0644);
	/* Root may write everywhere; another user does not. */
	pid_t pid = fork();
	if (pid == 0) {
		if (getuid() == 0 && (fchown(bed.host, 1000, 1000) < 0 ||
				      fchownat(bed.host, "closed", 1000, 1000, 0) < 0 ||
				      fchownat(bed.host, "opened", 1000, 1000, 0) < 0 ||
				      fchownat(bed.host, "closed/old", 1000, 1000, 0) < 0 ||
				      fchmodat(bed.tree, "closed/new", 0644, 0) < 0 ||
				      fchmodat(bed.tree, "opened/new", 0644, 0) < 0 ||
				      fchmodat(bed.tree, "closed", 0755, 0) < 0 ||
				      fchmodat(bed.tree, "opened", 0755, 0) < 0 ||
				      setgid(1000) < 0 || setuid(1000) < 0))
			_exit(2);
		json_t *result = apply(&bed, NULL);
		check_result(result, "closed closed/new closed/old opened opened/new", "", "", "");
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	check_mode(bed.host, "closed", 0555);
	check_mode(bed.host, "opened", 0755);
	bed_end(&bed);
}

/* 20,000 files in one directory. */
static void many_files_take_no_longer_than_each(void **state)
{
	const int count = 20000;
	char path[64];
	struct bed bed;

	bed_begin(&bed, state);
	bed_take(&bed);
	upper_dir(&bed, "d", 0755);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "d/%06d", i);
		int fd = openat(bed.tree, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_int_equal(write(fd, path, 8), 8);
		close(fd);
		claim(&bed, 'f', path, 0644, NULL);
	}
	bed_compare(&bed);
	uint64_t began = clock_mono_ns();
	json_auto_t *result = apply_paths(&bed, NULL, 0);
	if (getenv("REVIEW_TIMES"))
		printf("%d files: %.3f s\n", count, (double)(clock_mono_ns() - began) / 1e9);
	assert_true(clock_mono_ns() - began < 60 * NS_PER_S);
	assert_int_equal(json_array_size(json_object_get(result, "applied")), count + 1);
	bed_end(&bed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_kinds_are_applied),
		TEST(a_run_that_was_killed_can_be_repeated),
		TEST(each_step_looks_again),
		TEST(the_hosts_edits_stay),
		TEST(only_what_was_shown_is_applied),
		TEST(what_is_left_out_never_comes),
		TEST(hard_links_of_the_host),
		TEST(directories_change_places),
		TEST(names_with_other_letters),
		TEST(paths_choose),
		TEST(autorun_files_are_named),
		TEST(an_old_path_names_no_autorun_file),
		TEST(no_repository_is_completed_without_a_name),
		TEST(holes_stay_holes),
		TEST(a_full_disk),
		TEST(hostile_names),
		TEST(directories_that_may_not_be_written),
		TEST(many_files_take_no_longer_than_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
