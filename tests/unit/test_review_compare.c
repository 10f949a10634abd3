/* SPDX-License-Identifier: MIT */
/* Tests what is found as changed in a reviewed directory. */
#include "review_fixture.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/limits.h"

/* The bytes that were read by pread(). */
static uint64_t bytes_read;

ssize_t pread(int fd, void *bytes, size_t len, off_t at)
{
	ssize_t n = syscall(SYS_pread64, fd, bytes, len, at);

	bytes_read += n > 0 ? (uint64_t)n : 0;
	return n;
}

static void nothing_is_changed(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_file(bed.host, "a", "text", 0644);
	put_dir(bed.host, "d", 0755);
	put_file(bed.host, "d/f", "text", 04755);
	assert_int_equal(symlinkat("a", bed.host, "l"), 0);
	bed_take(&bed);
	bed_expect(&bed, "");
	/* Copied up without a change. The image has no set-ID bits. */
	claim(&bed, 'd', "", 0755, NULL);
	upper_file(&bed, "a", "text", 0644);
	upper_dir(&bed, "d", 0755);
	upper_file(&bed, "d/f", "text", 0755);
	upper_link(&bed, "l", "a");
	whiteout(&bed, "never");
	bed_expect(&bed, "");
	bed_end(&bed);
}

static void each_kind_of_change(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_file(bed.host, "changed", "old", 0644);
	put_file(bed.host, "mode", "text", 0644);
	put_file(bed.host, "removed", "gone", 0644);
	put_file(bed.host, "old name", "long text", 0644);
	put_file(bed.host, "to dir", "x", 0644);
	put_file(bed.host, "to link", "x", 0644);
	put_dir(bed.host, "to file", 0755);
	put_file(bed.host, "to file/below", "x1", 0644);
	put_dir(bed.host, "dir", 0755);
	assert_int_equal(symlinkat("a", bed.host, "link"), 0);
	bed_take(&bed);
	upper_file(&bed, "added", "new", 0666);
	upper_file(&bed, "changed", "new text", 0644);
	upper_dir(&bed, "dir", 0700);
	upper_link(&bed, "link", "b");
	upper_file(&bed, "mode", "text", 0755);
	whiteout(&bed, "old name");
	upper_file(&bed, "new name", "long text", 0644);
	whiteout(&bed, "removed");
	upper_dir(&bed, "to dir", 0755);
	upper_file(&bed, "to dir/f", "", 0644);
	upper_file(&bed, "to file", "x2", 0644);
	upper_link(&bed, "to link", "changed");
	bed_expect(&bed, "added f added\n"
			 "changed f changed\n"
			 "mode d dir\n"
			 "changed l link\n"
			 "mode f mode\n"
			 "renamed f new name < old name\n"
			 "removed f removed\n"
			 "type d to dir\n"
			 "added f to dir/f\n"
			 "type f to file\n"
			 "removed f to file/below\n"
			 "type l to link\n");
	/* The umask takes bits that the file did not have. */
	assert_int_equal(bed_change(&bed, "added")->new.mode, 0644);
	assert_int_equal(bed_change(&bed, "mode")->new.mode, 0755);
	assert_int_equal(bed_change(&bed, "changed")->new.size, 8);
	assert_string_equal(bed_change(&bed, "link")->target, "b");
	bed_end(&bed);
}

/* All that overlayfs says of directories: opaque ones, and redirects of both forms. */
static void directories_of_overlayfs(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "a", 0755);
	put_file(bed.host, "a/x", "contents of x", 0644);
	put_dir(bed.host, "a/sub", 0755);
	put_file(bed.host, "a/sub/y", "contents of y", 0600);
	put_file(bed.host, "a/sub/z", "contents of z", 0644);
	put_dir(bed.host, "o", 0755);
	put_file(bed.host, "o/old", "old", 0644);
	put_file(bed.host, "o/stays", "same", 0644);
	bed_take(&bed);
	/* mv a b; rm b/sub/z; echo >> b/x; mv b/sub b/sub2 */
	whiteout(&bed, "a");
	upper_moved(&bed, "b", "/a", 0755);
	upper_file(&bed, "b/x", "contents of x and more", 0644);
	whiteout(&bed, "b/sub");
	upper_moved(&bed, "b/sub2", "sub", 0755);
	whiteout(&bed, "b/sub2/z");
	/* rm -r o; mkdir o; and a file as it was */
	upper_opaque(&bed, "o", 0755);
	upper_file(&bed, "o/stays", "same", 0644);
	bed_expect(&bed, "removed f a/sub/z\n"
			 "removed f a/x\n"
			 "renamed d b < a\n"
			 "renamed d b/sub2 < a/sub\n"
			 "renamed f b/sub2/y < a/sub/y\n"
			 "added f b/x\n"
			 "removed f o/old\n");
	assert_int_equal(bed_change(&bed, "b/sub2/y")->source, REVIEW_LOWER);
	assert_int_equal(bed_change(&bed, "b/sub2/y")->new.mode, 0600);
	bed_end(&bed);
}

/* Directories that take each other's names: each file is found, also where nothing was renamed. */
static void directories_change_places(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "a", 0755);
	put_file(bed.host, "a/f", "of a", 0644);
	put_file(bed.host, "a/only a", "only a", 0644);
	put_dir(bed.host, "b", 0755);
	put_file(bed.host, "b/f", "of b", 0644);
	bed_take(&bed);
	upper_moved(&bed, "a", "/b", 0755);
	upper_moved(&bed, "b", "/a", 0755);
	bed_expect(&bed, "changed f a/f < b/f\n"
			 "changed f b/f < a/f\n"
			 "renamed f b/only a < a/only a\n");
	assert_int_equal(bed_change(&bed, "a/f")->source, REVIEW_LOWER);
	bed_end(&bed);

	/* away and back again, over an opaque parent */
	assert_int_equal(path_remove_tree_at(bed.s->fd, "host", NULL), 0);
	assert_int_equal(path_remove_tree_at(bed.s->fd, "tree", NULL), 0);
	bed_begin(&bed, state);
	put_dir(bed.host, "p", 0755);
	put_file(bed.host, "p/gone", "gone", 0644);
	put_dir(bed.host, "p/back", 0755);
	put_file(bed.host, "p/back/f", "f", 0644);
	bed_take(&bed);
	upper_opaque(&bed, "p", 0755);
	upper_moved(&bed, "p/back", "/p/back", 0755);
	bed_expect(&bed, "removed f p/gone\n");
	bed_end(&bed);
}

static void what_must_not_come_to_the_host(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_file(bed.host, "f", "f", 0644);
	put_dir(bed.host, "dir", 0755);
	put_file(bed.host, "dir/f", "in dir", 0644);
	bed_take(&bed);
	upper_link(&bed, "absolute", "/etc/passwd");
	claim(&bed, 's', "device", 0, "not a file");
	upper_dir(&bed, "deep", 0755);
	upper_link(&bed, "deep/fine", "../f");
	upper_link(&bed, "deep/out", "../../f");
	upper_link(&bed, "dir", "..");
	claim(&bed, 'f', "missing", 0644, NULL);
	upper_file(&bed, "setgid", "x", 02755);
	upper_file(&bed, "setuid", "x", 04755);
	claim(&bed, 'h', "hard", 0, "setuid");
	upper_file(&bed, "sticky", "x", 01755);
	/* Its contents are a link on the copy: nobody follows it. */
	assert_int_equal(symlinkat("/etc/passwd", bed.tree, "swapped"), 0);
	claim(&bed, 'f', "swapped", 0644, NULL);
	claim(&bed, 'f', "../outside", 0644, NULL);
	bed_expect(&bed, "added f ../outside (left out)\n"
			 "added l absolute (left out)\n"
			 "added d deep\n"
			 "added l deep/fine\n"
			 "added l deep/out (left out)\n"
			 "added s device (left out)\n"
			 "type l dir (left out)\n"
			 "added f hard (left out)\n"
			 "added f missing (left out)\n"
			 "added f setgid (left out)\n"
			 "added f setuid (left out)\n"
			 "added f sticky\n"
			 "added f swapped (left out)\n");
	assert_int_equal(bed_change(&bed, "sticky")->new.mode, 0755);
	bed_end(&bed);
}

/* A link of the host may lead out. A link of the guest must not lead there. */
static void links_through_links_of_the_host(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "d", 0755);
	put_file(bed.host, "d/f", "f", 0644);
	put_dir(bed.host, "e", 0755);
	put_file(bed.host, "e/f", "f", 0644);
	assert_int_equal(symlinkat("/etc", bed.host, "ext"), 0);
	assert_int_equal(symlinkat("d", bed.host, "fine"), 0);
	assert_int_equal(symlinkat("../ext", bed.host, "d/near"), 0);
	bed_take(&bed);
	whiteout(&bed, "fine");
	upper_link(&bed, "1", "ext/shadow");
	upper_link(&bed, "2", "ext");
	upper_link(&bed, "3", "d/near/shadow");
	upper_link(&bed, "4", "5/x");
	upper_link(&bed, "5", "3");
	upper_link(&bed, "6", "d/f");
	upper_link(&bed, "7", "6");
	upper_link(&bed, "8", "fine/f");
	upper_link(&bed, "9", "9");
	/* The directory of the host stays with its files. */
	upper_link(&bed, "e", "ext/x");
	bed_expect(&bed, "added l 1 (left out)\n"
			 "added l 2 (left out)\n"
			 "added l 3 (left out)\n"
			 "added l 4 (left out)\n"
			 "added l 5 (left out)\n"
			 "added l 6\n"
			 "added l 7\n"
			 "added l 8\n"
			 "added l 9 (left out)\n"
			 "type l e (left out)\n"
			 "removed l fine\n");
	bed_end(&bed);
}

static void claims_that_cannot_be_true(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "d", 0755);
	put_file(bed.host, "d/f", "f", 0644);
	put_file(bed.host, "file", "f", 0644);
	bed_take(&bed);
	upper_moved(&bed, "m1", "/none", 0755);
	upper_file(&bed, "m1/x", "x", 0644);
	upper_moved(&bed, "m2", "/file", 0755);
	upper_moved(&bed, "m3", "/", 0755);
	upper_moved(&bed, "m4", "", 0755);
	upper_moved(&bed, "m5", "/../host/d", 0755);
	upper_moved(&bed, "m6", "d/f", 0755);
	upper_moved(&bed, "m7", "..", 0755);
	upper_moved(&bed, "m8", "/d/", 0755);
	/* A directory of the host stays as it is if what the guest says of it is false. */
	upper_moved(&bed, "d", "/none", 0755);
	claim(&bed, 'o', "file", 0, NULL);
	bed_expect(&bed, "mode d d (left out)\n"
			 "changed f file (left out)\n"
			 "added d m1 (left out)\n"
			 "added f m1/x (left out)\n"
			 "added d m2 (left out)\n"
			 "added d m3 (left out)\n"
			 "added d m4 (left out)\n"
			 "added d m5 (left out)\n"
			 "added d m6 (left out)\n"
			 "added d m7 (left out)\n"
			 "added d m8 (left out)\n");
	bed_end(&bed);
}

/* A guest says that a large directory is in many places. */
static void redirects_without_end(void **state)
{
	struct bed bed;
	char path[32];

	bed_begin(&bed, state);
	put_dir(bed.host, "big", 0755);
	put_dir(bed.host, "big/a", 0755);
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "big/a/%03d", i);
		put_file(bed.host, path, "x", 0644);
	}
	bed_take(&bed);
	for (int i = 0; i < 2000; i++) {
		snprintf(path, sizeof(path), "m%04d", i);
		upper_moved(&bed, path, "/big", 0755);
	}
	bed_compare(&bed);
	/* The first one is believed: a copy, since /big is still there. */
	assert_true(bed.changes.count <= 2000 + 302);
	assert_null(bed_change(&bed, "m0000/a/000")->left_out);
	bed_end(&bed);
}

/* One move of a directory with a long name and many files. */
static void moved_paths_have_a_limit(void **state)
{
	struct error err = {0};
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "d", 0755);
	put_file(bed.host, "d/1", "1", 0644);
	put_file(bed.host, "d/2", "2", 0644);
	bed_take(&bed);
	whiteout(&bed, "d");
	upper_moved(&bed, "a long name", "/d", 0755);
	limit_set(LIMIT_REVIEW_MOVED_BYTES, 28);
	bed_compare(&bed);
	limit_set(LIMIT_REVIEW_MOVED_BYTES, 27);
	const struct review_inputs inputs = {
		.list = &bed.list, .claims = &bed.read, .tree = bed.tree, .host = bed.host};
	struct review_changes changes = {0};
	assert_int_equal(review_compare(&inputs, &changes, &err), -1);
	limit_reset(LIMIT_REVIEW_MOVED_BYTES);
	assert_non_null(strstr(err.msg, "a long name"));
	assert_null(changes.changes);
	bed_end(&bed);
}

/* A guest gives one file many names: it is read once. */
static void hard_links_are_read_once(void **state)
{
	static char data[100000];
	struct bed bed;
	char path[32];

	bed_begin(&bed, state);
	bed_take(&bed);
	memset(data, 'a', sizeof(data));
	put_bytes(bed.tree, "000", data, sizeof(data), 0600);
	claim(&bed, 'f', "000", 0644, NULL);
	put_file(bed.tree, "b0", "of b", 0600);
	claim(&bed, 'f', "b0", 0644, NULL);
	for (int i = 1; i < 200; i++) {
		snprintf(path, sizeof(path), "%03d", i);
		assert_int_equal(linkat(bed.tree, "000", bed.tree, path, 0), 0);
		claim(&bed, 'h', path, 0644, "000");
		/* other files with two names each */
		snprintf(path, sizeof(path), "b%d", i);
		put_file(bed.tree, path, path, 0600);
		claim(&bed, 'f', path, 0644, NULL);
		snprintf(path, sizeof(path), "c%d", i);
		autofree char *first = strdup(path);
		*first = 'b';
		assert_int_equal(linkat(bed.tree, first, bed.tree, path, 0), 0);
		claim(&bed, 'h', path, 0644, first);
	}
	bytes_read = 0;
	bed_compare(&bed);
	assert_true(bytes_read < 2 * sizeof(data));
	assert_int_equal(bed.changes.count, 200 + 200 + 199);
	assert_int_equal(bed_change(&bed, "199")->new.size, sizeof(data));
	assert_memory_equal(bed_change(&bed, "000")->new.digest,
			    bed_change(&bed, "199")->new.digest, SHA256_BYTES);
	for (int i = 1; i < 200; i++) {
		uint8_t digest[SHA256_BYTES];

		snprintf(path, sizeof(path), "b%d", i);
		review_digest_bytes(path, strlen(path), digest);
		*path = 'c';
		assert_memory_equal(bed_change(&bed, path)->new.digest, digest, SHA256_BYTES);
	}
	bed_end(&bed);
}

static void states_of_the_host(void **state)
{
	struct bed bed;
	struct stat st;

	bed_begin(&bed, state);
	put_file(bed.host, "changed", "old", 0644);
	put_file(bed.host, "done", "old", 0644);
	put_file(bed.host, "gone", "old", 0644);
	put_file(bed.host, "removed", "old", 0644);
	put_file(bed.host, "touched", "old", 0644);
	put_dir(bed.host, "to-link", 0755);
	put_file(bed.host, "to-link/f", "old", 0644);
	put_file(bed.host, "from", "contents", 0644);
	put_dir(bed.host, "mode", 0755);
	bed_take(&bed);
	for (const char *const *at =
		     (const char *const[]){"changed", "done", "gone", "touched", NULL};
	     *at; at++)
		upper_file(&bed, *at, "new", 0644);
	whiteout(&bed, "removed");
	upper_file(&bed, "added", "new", 0644);
	upper_dir(&bed, "mode", 0700);
	upper_dir(&bed, "to-link", 0755);
	upper_file(&bed, "to-link/f", "new", 0644);
	whiteout(&bed, "from");
	upper_file(&bed, "renamed", "contents", 0644);
	bed_expect(&bed, "added f added\n"
			 "changed f changed\n"
			 "changed f done\n"
			 "changed f gone\n"
			 "mode d mode\n"
			 "removed f removed\n"
			 "renamed f renamed < from\n"
			 "changed f to-link/f\n"
			 "changed f touched\n");
	put_file(bed.host, "added", "other", 0644);
	put_file(bed.host, "changed", "abc", 0644); /* as long as before */
	put_file(bed.host, "done", "new", 0644);
	assert_int_equal(unlinkat(bed.host, "gone", 0), 0);
	put_file(bed.host, "removed", "other", 0644);
	/* A file that only has another time is the same. */
	put_file(bed.host, "touched", "old", 0644);
	assert_int_equal(fchmodat(bed.host, "mode", 0750, 0), 0);
	/* A directory is replaced by a link to a directory with such a file. */
	assert_int_equal(renameat(bed.host, "to-link", bed.s->fd, "outside"), 0);
	assert_int_equal(symlinkat("../outside", bed.host, "to-link"), 0);
	put_file(bed.host, "renamed", "other", 0644);
	bed_expect(&bed, "added f added conflict\n"
			 "changed f changed conflict\n"
			 "changed f done done\n"
			 "changed f gone conflict\n"
			 "mode d mode conflict\n"
			 "removed f removed conflict\n"
			 "renamed f renamed < from conflict\n"
			 "changed f to-link/f conflict\n"
			 "changed f touched\n");
	assert_non_null(strstr(bed_change(&bed, "to-link/f")->conflict, "link"));
	assert_int_equal(unlinkat(bed.host, "removed", 0), 0);
	assert_int_equal(renameat(bed.host, "from", bed.host, "renamed"), 0);
	put_file(bed.host, "added", "new", 0644);
	bed_compare(&bed);
	assert_int_equal(bed_change(&bed, "removed")->host, REVIEW_HOST_DONE);
	assert_int_equal(bed_change(&bed, "renamed")->host, REVIEW_HOST_DONE);
	assert_int_equal(bed_change(&bed, "added")->host, REVIEW_HOST_DONE);
	/* The right contents with another mode are not what the guest wants. */
	assert_int_equal(fchmodat(bed.host, "added", 0600, 0), 0);
	bed_compare(&bed);
	assert_int_equal(bed_change(&bed, "added")->host, REVIEW_HOST_CONFLICT);
	assert_int_equal(fstatat(bed.s->fd, "outside/f", &st, 0), 0);
	bed_end(&bed);
}

/* CTIME 0 in the list: what lstat() says of the file is not enough. */
static void contents_that_alone_count(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_file(bed.host, "f", "old", 0644);
	bed_take(&bed);
	upper_file(&bed, "f", "new", 0644);
	/* As if the file had been changed while it was taken. */
	bed.list.entries[0].digest[0] ^= 1;
	bed_expect(&bed, "changed f f\n");
	bed.list.entries[0].ctime = 0;
	bed_expect(&bed, "changed f f conflict\n");
	bed_end(&bed);
}

static const char *by(const struct bed *bed, const char *path)
{
	const struct review_change *change = bed_change(bed, path);

	return change->by ? change->by : "";
}

static void autorun_files(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "host.git", 0755);
	put_file(bed.host, "host.git/config", "x", 0644);
	put_file(bed.host, "host.git/HEAD", "x", 0644);
	bed_take(&bed);
	upper_file(&bed, "Makefile", "x", 0644);
	upper_file(&bed, "MAKEFILE", "x", 0644);
	upper_file(&bed, "main.c", "x", 0644);
	upper_link(&bed, ".vscode", "main.c");
	upper_dir(&bed, ".git", 0755);
	upper_file(&bed, ".git/index", "x", 0644);
	upper_file(&bed, ".git/config", "x", 0644);
	upper_dir(&bed, "sub", 0755);
	upper_dir(&bed, "sub/.GIT", 0755);
	upper_dir(&bed, ".GIT", 0755);
	upper_file(&bed, "sub/.GIT/config", "x", 0644);
	/* a repository with another name, made of new files, and of files that the host had */
	upper_dir(&bed, "bare", 0755);
	upper_file(&bed, "bare/Head", "x", 0644);
	upper_file(&bed, "bare/description", "x", 0644);
	upper_dir(&bed, "bare/objects", 0755);
	upper_dir(&bed, "bare/refs", 0755);
	upper_file(&bed, "bare/config", "x", 0644);
	upper_dir(&bed, "bare/hooks", 0755);
	upper_file(&bed, "bare/hooks/post-checkout", "x", 0755);
	upper_dir(&bed, "host.git", 0755);
	upper_file(&bed, "host.git/config", "evil", 0644);
	upper_dir(&bed, "host.git/objects", 0755);
	upper_dir(&bed, "host.git/refs", 0755);
	upper_dir(&bed, "plain", 0755);
	upper_file(&bed, "plain/config", "x", 0644);
	bed_compare(&bed);
	for (const char *const *at =
		     (const char *const[]){
			     "Makefile", "MAKEFILE", ".vscode", ".git/config", "sub/.GIT", ".GIT",
			     ".git", "sub/.GIT/config", "bare/config", "bare/hooks/post-checkout",
			     "host.git/config", "bare/Head", "bare/objects", "bare/refs", NULL};
	     *at; at++)
		if (!*by(&bed, *at))
			fail_msg("%s is no autorun file", *at);
	for (const char *const *at = (const char *const[]){"main.c", "plain/config",
							   "bare/description", "sub", NULL};
	     *at; at++)
		assert_string_equal(by(&bed, *at), "");
	assert_true(bed_change(&bed, ".git/index")->in_git);
	assert_true(bed_change(&bed, ".git")->in_git);
	assert_true(bed_change(&bed, "sub/.GIT/config")->in_git);
	assert_false(bed_change(&bed, "bare/config")->in_git);
	bed_end(&bed);
}

/* Whatever the guest does to the names by which git knows a repository, its files stay autorun files. */
static void parts_of_repositories(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	for (const char *const *at = (const char *const[]){"removed", "renamed", NULL}; *at; at++) {
		autofree char *path = NULL;

		put_dir(bed.host, *at, 0755);
		assert_true(asprintf(&path, "%s/objects", *at) > 0);
		put_dir(bed.host, path, 0755);
		memcpy(path + strlen(path) - 7, "refs", 5);
		put_dir(bed.host, path, 0755);
		memcpy(path + strlen(path) - 4, "HEAD", 5);
		put_file(bed.host, path, *at, 0644);
	}
	bed_take(&bed);
	upper_dir(&bed, "removed", 0755);
	whiteout(&bed, "removed/HEAD");
	upper_file(&bed, "removed/config", "x", 0644);
	upper_dir(&bed, "renamed", 0755);
	whiteout(&bed, "renamed/HEAD");
	whiteout(&bed, "renamed/objects");
	upper_moved(&bed, "stores", "/renamed/objects", 0755);
	upper_dir(&bed, "renamed/info", 0755);
	upper_file(&bed, "renamed/info/attributes", "x", 0644);
	/* only on the host, since the image was taken */
	put_dir(bed.host, "later", 0755);
	put_file(bed.host, "later/HEAD", "x", 0644);
	upper_dir(&bed, "later", 0755);
	upper_file(&bed, "later/config", "x", 0644);
	upper_dir(&bed, "later/objects", 0755);
	/* one part alone */
	upper_dir(&bed, "part", 0755);
	upper_file(&bed, "part/HEAD", "x", 0644);
	upper_file(&bed, "part/commondir", "x", 0644);
	upper_dir(&bed, "some", 0755);
	upper_file(&bed, "some/HEAD", "x", 0644);
	upper_file(&bed, "some/config", "x", 0644);
	bed_compare(&bed);
	for (const char *const *at =
		     (const char *const[]){"removed/HEAD", "removed/config", "renamed/HEAD",
					   "stores", "renamed/info/attributes", "later/config",
					   "part/HEAD", "part/commondir", "some/config", NULL};
	     *at; at++)
		if (!*by(&bed, *at))
			fail_msg("%s is no autorun file", *at);
	for (const char *const *at = (const char *const[]){"some/HEAD", "later/objects", NULL}; *at;
	     at++)
		assert_string_equal(by(&bed, *at), "");
	bed_end(&bed);
}

/* The host's autorun files are links to files with other names. */
static void what_autorun_links_lead_to(void **state)
{
	struct bed bed;

	bed_begin(&bed, state);
	put_dir(bed.host, "cfg", 0755);
	put_file(bed.host, "cfg/real", "x", 0644);
	put_file(bed.host, "cfg/other", "x", 0644);
	put_dir(bed.host, "editor", 0755);
	put_dir(bed.host, "sub", 0755);
	assert_int_equal(symlinkat("cfg/envrc", bed.host, ".envrc"), 0);
	assert_int_equal(symlinkat("real", bed.host, "cfg/envrc"), 0);
	assert_int_equal(symlinkat("../editor/", bed.host, "sub/.vscode"), 0);
	assert_int_equal(symlinkat("new/./file", bed.host, "Makefile"), 0);
	assert_int_equal(symlinkat("mk/dir/file", bed.host, "GNUmakefile"), 0);
	assert_int_equal(symlinkat(".envrc", bed.host, "loop.mk"), 0);
	assert_int_equal(symlinkat("a.mk", bed.host, "a.mk"), 0);
	put_dir(bed.host, "mk", 0755);
	bed_take(&bed);
	upper_dir(&bed, "cfg", 0755);
	upper_file(&bed, "cfg/real", "evil", 0644);
	upper_file(&bed, "cfg/other", "y", 0644);
	upper_dir(&bed, "editor", 0755);
	upper_dir(&bed, "editor/deep", 0755);
	upper_file(&bed, "editor/deep/tasks", "evil", 0644);
	upper_dir(&bed, "new", 0755);
	upper_file(&bed, "new/file", "evil", 0644);
	upper_file(&bed, "new/file2", "y", 0644);
	upper_link(&bed, "mk", "cfg");
	bed_compare(&bed);
	for (const char *const *at =
		     (const char *const[]){"cfg/real", "editor/deep/tasks", "new/file", "mk", NULL};
	     *at; at++)
		if (!*by(&bed, *at))
			fail_msg("%s is no autorun file", *at);
	for (const char *const *at = (const char *const[]){"cfg/other", "new", "new/file2", NULL};
	     *at; at++)
		assert_string_equal(by(&bed, *at), "");
	bed_end(&bed);
}

/* The digest changes with each thing that would be applied, and only with those. */
static void the_digest_of_the_changes(void **state)
{
	char digests[8][SHA256_TEXT];
	struct bed bed;
	size_t n = 0;

	bed_begin(&bed, state);
	put_file(bed.host, "f", "old", 0644);
	bed_take(&bed);
	upper_file(&bed, "f", "new", 0644);
	bed_compare(&bed);
	strcpy(digests[n++], bed.changes.digest);
	put_file(bed.tree, "f", "nex", 0600);
	bed_compare(&bed);
	strcpy(digests[n++], bed.changes.digest);
	buf_free(&bed.claims);
	claim(&bed, 'f', "f", 0755, NULL);
	bed_compare(&bed);
	strcpy(digests[n++], bed.changes.digest);
	buf_free(&bed.claims);
	claim(&bed, 'w', "f", 0, NULL);
	bed_compare(&bed);
	strcpy(digests[n++], bed.changes.digest);
	claim(&bed, 'l', "l", 0, "f");
	bed_compare(&bed);
	strcpy(digests[n++], bed.changes.digest);
	claim(&bed, 's', "s", 0, "");
	bed_compare(&bed);
	strcpy(digests[n++], bed.changes.digest);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(digests[i], digests[k]);
	/* The host's state is not in it. */
	put_file(bed.host, "f", "another", 0644);
	bed_compare(&bed);
	assert_string_equal(bed.changes.digest, digests[n - 1]);
	bed_end(&bed);
}

static void changes_as_json(void **state)
{
	struct error err = {0};
	struct bed bed;

	bed_begin(&bed, state);
	put_file(bed.host, "f", "old", 0600);
	bed_take(&bed);
	upper_file(&bed, "f", "new!", 0700);
	upper_file(&bed, "n\n\x1b\xff", "x", 0644);
	claim(&bed, 's', "s", 0, "");
	bed_compare(&bed);
	json_auto_t *json = review_changes_json(&bed.changes, &err);
	assert_non_null(json);
	json_t *list = json_object_get(json, "changes");
	assert_int_equal(json_array_size(list), 3);
	json_t *f = json_array_get(list, 0);
	assert_string_equal(json_text(f, "path", ""), "f");
	assert_string_equal(json_text(f, "kind", ""), "changed");
	assert_string_equal(json_text(f, "type", ""), "file");
	assert_string_equal(json_text(f, "mode", ""), "0700");
	assert_string_equal(json_text(f, "oldMode", ""), "0600");
	assert_string_equal(json_text(f, "host", ""), "same");
	assert_int_equal(json_integer_value(json_object_get(f, "size")), 4);
	assert_int_equal(json_integer_value(json_object_get(f, "oldSize")), 3);
	assert_int_equal(strlen(json_text(f, "digest", "")), 64);
	assert_null(json_object_get(f, "pathBase64"));
	json_t *n = json_array_get(list, 1);
	assert_string_equal(json_text(n, "path", ""), "n\n\x1b\xef\xbf\xbd");
	assert_string_equal(json_text(n, "pathBase64", ""), "bgob/w==");
	assert_true(strlen(json_text(json_array_get(list, 2), "leftOut", "")) > 5);
	assert_null(json_object_get(json_array_get(list, 2), "host"));
	assert_int_equal(strlen(json_text(json, "digest", "")), 64);
	bed_end(&bed);
}

/* Names of any bytes, and paths that are nearly too long. */
static void hostile_names(void **state)
{
	static char longest[4200];
	struct bed bed;

	bed_begin(&bed, state);
	bed_take(&bed);
	for (size_t i = 0; i < sizeof(longest) - 1; i++)
		longest[i] = i % 200 == 199 ? '/' : 'a';
	longest[4095] = '\0';
	for (size_t len = 199; len < 4095; len += 200) {
		longest[len] = '\0';
		/* The copy has only the claims of these: its directories are too long to be made by
		 * one call. */
		claim(&bed, 'd', longest, 0755, NULL);
		longest[len] = '/';
	}
	claim(&bed, 'd', longest, 0755, NULL);
	longest[4095] = 'a';
	longest[4096] = '\0';
	claim(&bed, 'f', longest, 0644, NULL);
	upper_file(&bed, " \t\n\x1b[31m\x7f\xc0\x80", "x", 0644);
	bed_compare(&bed);
	assert_int_equal(bed.changes.count, 23);
	assert_int_equal(bed_change(&bed, " \t\n\x1b[31m\x7f\xc0\x80")->host, REVIEW_HOST_SAME);
	size_t left_out = 0;
	for (size_t i = 0; i < bed.changes.count; i++)
		left_out += bed.changes.changes[i].left_out != NULL;
	assert_int_equal(left_out, 1);
	bed_end(&bed);
}

/* 200,000 changed files of one directory, a half of them renamed. */
static void many_changes_take_no_longer_than_each(void **state)
{
	const int count = 200000;
	char path[64];
	struct bed bed;

	bed_begin(&bed, state);
	/* The list alone has these files, so that the test does not have to make them. */
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};
	assert_ok(buf_append(&text, "microagent-review-list 1", 25, &err));
	assert_ok(buf_append(&text, "d 755 0 1 2 1 5 - d", 20, &err));
	for (int i = 0; i < count; i++) {
		assert_ok(buf_printf(&text, &err, "f 644 7 1 2 1 5 %064x d/%06d", i / 2, i));
		assert_ok(buf_append(&text, "", 1, &err));
	}
	assert_ok(buf_printf(&text, &err, "end %d", count + 1));
	assert_ok(buf_append(&text, "", 1, &err));
	autoclose int fd = fd_memfd("list", buf_bytes(&text), text.len, &err);
	assert_ok(review_list_read(fd, &bed.list, &err));
	whiteout(&bed, "d");
	upper_moved(&bed, "e", "/d", 0755);
	for (int i = 0; i < count; i += 2) {
		snprintf(path, sizeof(path), "e/%06d", i);
		whiteout(&bed, path);
	}
	uint64_t began = clock_mono_ns();
	bed_compare(&bed);
	assert_true(clock_mono_ns() - began < 60 * NS_PER_S);
	assert_int_equal(bed.changes.count, 1 + count);
	assert_int_equal(bed_change(&bed, "e/199999")->kind, REVIEW_RENAMED);
	assert_string_equal(bed_change(&bed, "e/199999")->from, "d/199999");
	assert_int_equal(bed_change(&bed, "d/199998")->kind, REVIEW_REMOVED);
	if (getenv("REVIEW_TIMES"))
		printf("%d changes: %.3f s\n", count, (double)(clock_mono_ns() - began) / 1e9);
	bed_end(&bed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_changed),
		TEST(each_kind_of_change),
		TEST(directories_of_overlayfs),
		TEST(directories_change_places),
		TEST(what_must_not_come_to_the_host),
		TEST(links_through_links_of_the_host),
		TEST(claims_that_cannot_be_true),
		TEST(redirects_without_end),
		TEST(moved_paths_have_a_limit),
		TEST(hard_links_are_read_once),
		TEST(states_of_the_host),
		TEST(contents_that_alone_count),
		TEST(autorun_files),
		TEST(parts_of_repositories),
		TEST(what_autorun_links_lead_to),
		TEST(the_digest_of_the_changes),
		TEST(changes_as_json),
		TEST(hostile_names),
		TEST(many_changes_take_no_longer_than_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
