/* SPDX-License-Identifier: MIT */
/* Contents of images: what is staged, what is only listed, and the file system made of both. */
#include "test_base.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include "artifact/ext4.h"
#include "artifact/tool.h"
#include "artifact/tree.h"
#include "artifact/tree_impl.h"

static const struct tree_entry *entry_of(const struct tree *tree, const char *path)
{
	for (size_t i = 0; i < tree->count; i++)
		if (strcmp(tree->entries[i].path, path) == 0)
			return &tree->entries[i];
	fail_msg("no entry %s", path);
	return NULL;
}

static void fill(struct tree *tree)
{
	struct error err = {0};

	assert_int_equal(tree_dir(tree, "/", 0755, 0, &err), 0);
	assert_int_equal(tree_dir(tree, "/home", 0755, 1000, &err), 0);
	assert_int_equal(tree_text(tree, "/home/a \"b\"", 04711, "text", &err), 0);
	assert_int_equal(tree_copy(tree, "/passwd", 0, "/etc/passwd", &err), 0);
	assert_int_equal(tree_link(tree, "/link", "/home", &err), 0);
}

static void entries_are_staged_for_their_maker(void **state)
{
	const struct scratch *s = *state;
	auto_tree struct tree tree = {.time = 1000};
	struct error err = {0};
	char target[16] = "";
	struct stat st;

	fill(&tree);
	if (tree_stage(&tree, scratch_path(s, "root"), &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(lstat(scratch_path(s, "root/home/a \"b\""), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(lstat(scratch_path(s, "root/passwd"), &st), 0);
	assert_true(st.st_size > 0);
	assert_int_equal(readlink(scratch_path(s, "root/link"), target, sizeof(target)), 5);
	assert_string_equal(target, "/home");
	assert_int_equal(entry_of(&tree, "/home")->uid, 1000);
	assert_int_equal(entry_of(&tree, "/passwd")->time, 1000);
}

static void the_digest_tells_trees_apart(void **state)
{
	auto_tree struct tree a = {.time = 1000}, b = {.time = 1000}, c = {.time = 1001};
	char digest[3][DIGEST_TEXT];
	struct error err = {0};

	(void)state;
	fill(&a);
	fill(&b);
	fill(&c);
	assert_int_equal(tree_digest(&a, digest[0], &err), 0);
	assert_int_equal(tree_digest(&b, digest[1], &err), 0);
	assert_int_equal(tree_digest(&c, digest[2], &err), 0);
	assert_string_equal(digest[0], digest[1]);
	assert_string_not_equal(digest[0], digest[2]);
	b.entries[2].data[0] = 'T';
	assert_int_equal(tree_digest(&b, digest[1], &err), 0);
	assert_string_not_equal(digest[0], digest[1]);
}

static void control_characters_are_refused(void **state)
{
	auto_tree struct tree tree = {0};
	struct error err = {0};

	(void)state;
	assert_int_equal(tree_dir(&tree, "/a\nsif / uid 0", 0755, 0, &err), -1);
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_int_equal(tree.count, 0);
}

struct member {
	const char *name, *link, *hard;
	mode_t mode;
	uid_t uid;
};

static void write_tar(const char *path, const struct member *members, size_t count)
{
	struct archive *archive = archive_write_new();

	assert_int_equal(archive_write_set_format_ustar(archive), ARCHIVE_OK);
	assert_int_equal(archive_write_open_filename(archive, path), ARCHIVE_OK);
	for (size_t i = 0; i < count; i++) {
		const struct member *m = &members[i];
		struct archive_entry *entry = archive_entry_new();

		archive_entry_set_pathname(entry, m->name);
		archive_entry_set_mode(entry, m->mode);
		archive_entry_set_uid(entry, m->uid);
		archive_entry_set_gid(entry, 7);
		archive_entry_set_mtime(entry, 5000, 0);
		if (m->link)
			archive_entry_set_symlink(entry, m->link);
		if (m->hard)
			archive_entry_set_hardlink(entry, m->hard);
		archive_entry_set_size(entry, S_ISREG(m->mode) && !m->hard ? 4 : 0);
		assert_true(archive_write_header(archive, entry) >= ARCHIVE_WARN);
		if (S_ISREG(m->mode) && !m->hard)
			assert_int_equal(archive_write_data(archive, "text", 4), 4);
		archive_entry_free(entry);
	}
	archive_write_close(archive);
	archive_write_free(archive);
}

static void an_archive_is_unpacked_and_listed(void **state)
{
	static const struct member members[] = {
		{"./", NULL, NULL, S_IFDIR | 0755, 0},
		{"./closed/", NULL, NULL, S_IFDIR | 0555, 0},
		{"./closed/secret", NULL, NULL, S_IFREG | 0000, 42},
		{"./F\303\266tan\303\272", NULL, NULL, S_IFREG | 04755, 0},
		{"./hard", NULL, "./closed/secret", S_IFREG | 0000, 42},
		{"./link", "closed", NULL, S_IFLNK | 0777, 0},
		{"./null", NULL, NULL, S_IFCHR | 0666, 0},
	};
	const struct scratch *s = *state;
	auto_tree struct tree tree = {0};
	struct error err = {0};
	struct stat a, b;

	write_tar(scratch_path(s, "t.tar"), members, ARRAY_SIZE(members));
	assert_ok(tree_untar(&tree, scratch_path(s, "t.tar"), scratch_path(s, "root"), &err));
	assert_int_equal(tree.count, 5);
	assert_int_equal(entry_of(&tree, "/")->mode, S_IFDIR | 0755);
	assert_int_equal(entry_of(&tree, "/closed/secret")->mode, S_IFREG);
	assert_int_equal(entry_of(&tree, "/closed/secret")->uid, 42);
	assert_int_equal(entry_of(&tree, "/closed/secret")->gid, 7);
	assert_int_equal(entry_of(&tree, "/F\303\266tan\303\272")->mode, S_IFREG | 04755);
	assert_int_equal(entry_of(&tree, "/link")->time, 5000);
	assert_int_equal(stat(scratch_path(s, "root/hard"), &a), 0);
	assert_int_equal(stat(scratch_path(s, "root/closed/secret"), &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(a.st_size, 4);
	assert_int_equal(access(scratch_path(s, "root/null"), F_OK), -1);
}

static void an_archive_cannot_leave_its_directory(void **state)
{
	static const struct member up[] = {{"../escaped", NULL, NULL, S_IFREG | 0644, 0}};
	static const struct member through[] = {{"out", "..", NULL, S_IFLNK | 0777, 0},
						{"out/escaped", NULL, NULL, S_IFREG | 0644, 0}};
	const struct scratch *s = *state;
	auto_tree struct tree tree = {0};
	struct error err = {0};

	write_tar(scratch_path(s, "up.tar"), up, ARRAY_SIZE(up));
	write_tar(scratch_path(s, "through.tar"), through, ARRAY_SIZE(through));
	assert_int_equal(tree_untar(&tree, scratch_path(s, "up.tar"), scratch_path(s, "a"), &err),
			 -1);
	assert_int_equal(
		tree_untar(&tree, scratch_path(s, "through.tar"), scratch_path(s, "b"), &err), -1);
	assert_int_equal(access(scratch_path(s, "escaped"), F_OK), -1);
}

/* Its attributes would be set on what took its place. */
static void what_was_replaced_is_not_listed(void **state)
{
	static const struct member members[] = {
		{"g", NULL, NULL, S_IFREG | 0644, 1}, {"f", "g", NULL, S_IFLNK | 0777, 2},
		{"f", NULL, "g", S_IFREG | 0644, 3},  {"d", NULL, NULL, S_IFDIR | 0755, 4},
		{"d", NULL, NULL, S_IFREG | 0644, 5},
	};
	const struct scratch *s = *state;
	auto_tree struct tree tree = {0};
	struct error err = {0};
	struct stat st;

	write_tar(scratch_path(s, "t.tar"), members, ARRAY_SIZE(members));
	assert_ok(tree_untar(&tree, scratch_path(s, "t.tar"), scratch_path(s, "root"), &err));
	assert_int_equal(lstat(scratch_path(s, "root/f"), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(tree.count, 2);
	assert_int_equal(entry_of(&tree, "/g")->uid, 1);
	assert_int_equal(entry_of(&tree, "/d")->uid, 5);
}

static void a_link_to_nothing_is_refused(void **state)
{
	static const struct member members[] = {{"l", "", NULL, S_IFLNK | 0777, 0}};
	const struct scratch *s = *state;
	auto_tree struct tree tree = {0};
	struct error err = {0};

	write_tar(scratch_path(s, "t.tar"), members, ARRAY_SIZE(members));
	assert_int_equal(tree_untar(&tree, scratch_path(s, "t.tar"), scratch_path(s, "root"), &err),
			 -1);
	assert_code(err, ERR_INVALID);
}

static void debugfs(const char *image, const char *request, const char *expected)
{
	const char *const argv[] = {"debugfs", "-R", request, image, NULL};
	autobuf struct buf out = BUF_INIT(1 << 20);
	const struct tool tool = {.argv = argv, .out = &out};
	struct error err = {0};

	if (tool_run(&tool, &err) < 0)
		fail_msg("%s", err.msg);
	if (!strstr(buf_string(&out), expected))
		fail_msg("%s: %s not in: %s", request, expected, buf_string(&out));
}

static void a_file_system_is_made_and_the_same_again(void **state)
{
	const struct ext4_spec spec = {.label = "test",
				       .uuid = "6d696372-6f61-4765-8e74-2d7465737400",
				       .size = 16 << 20,
				       .journal_mib = 4,
				       .time = 1577836800};
	const struct scratch *s = *state;
	auto_tree struct tree tree = {.time = 1577836800};
	char a[DIGEST_TEXT], b[DIGEST_TEXT];
	struct error err = {0};

	assert_int_equal(tool_extend_path(&err), 0);
	fill(&tree);
	assert_int_equal(tree_stage(&tree, scratch_path(s, "one"), &err), 0);
	assert_int_equal(tree_stage(&tree, scratch_path(s, "two"), &err), 0);
	if (ext4_make(&spec, &tree, scratch_path(s, "one"), scratch_path(s, "a"), &err) < 0 ||
	    ext4_make(&spec, &tree, scratch_path(s, "two"), scratch_path(s, "b"), &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(digest_file(scratch_path(s, "a"), a, &err), 0);
	assert_int_equal(digest_file(scratch_path(s, "b"), b, &err), 0);
	assert_string_equal(a, b);
	debugfs(scratch_path(s, "a"), "stat \"/home/a \"\"b\"\"\"", "Mode:  04711");
	debugfs(scratch_path(s, "a"), "stat /home", "User:  1000   Group:  1000");
	debugfs(scratch_path(s, "a"), "stat /passwd", "Mode:  0000");
	debugfs(scratch_path(s, "a"), "stat /link", "Type: symlink");
}

static const struct ext4_spec small = {.label = "test",
				       .uuid = "6d696372-6f61-4765-8e74-2d7465737400",
				       .size = 16 << 20,
				       .journal_mib = 4,
				       .time = 1577836800};

/* debugfs reads 8191 bytes as a line, takes what is behind them for the next, and a line that
 * begins with '!' for a command of the shell. */
static void no_name_is_taken_for_a_command(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};
	auto_tree struct tree tree = {.time = 1577836800};
	struct tree_xattr *xattrs;
	char command[128];
	size_t len;

	assert_int_equal(tool_extend_path(&err), 0);
	len = (size_t)snprintf(command, sizeof(command), "!touch${IFS}%s/escaped;#", s->path);
	assert_int_equal(tree_text(&tree, "/f", 0644, "text", &err), 0);
	assert_int_equal(tree_stage(&tree, scratch_path(s, "root"), &err), 0);
	/* Wherever the line is cut, the command begins behind it in one of these. */
	xattrs = calloc(len, sizeof(*xattrs));
	for (size_t i = 0; i < len; i++) {
		xattrs[i] = (struct tree_xattr){.name = calloc(1, 9001), .value = strdup("")};
		memcpy(xattrs[i].name, "user.", 5);
		for (size_t at = 5; at < 9000; at++)
			xattrs[i].name[at] = command[(at + i) % len];
	}
	tree_give_xattrs(&tree, xattrs, len);
	assert_int_equal(
		ext4_make(&small, &tree, scratch_path(s, "root"), scratch_path(s, "image"), &err),
		-1);
	assert_int_equal(access(scratch_path(s, "escaped"), F_OK), -1);
	assert_code(err, ERR_UNSUPPORTED);
	assert_int_equal(access(scratch_path(s, "image"), F_OK), -1);
}

static void what_does_not_fit_is_an_error(void **state)
{
	const struct ext4_spec spec = {.label = "test",
				       .uuid = "6d696372-6f61-4765-8e74-2d7465737400",
				       .size = 64 << 10,
				       .journal_mib = 4,
				       .time = 1577836800};
	const struct scratch *s = *state;
	auto_tree struct tree tree = {0};
	struct error err = {0};

	fill(&tree);
	assert_int_equal(tree_stage(&tree, scratch_path(s, "one"), &err), 0);
	assert_int_equal(
		ext4_make(&spec, &tree, scratch_path(s, "one"), scratch_path(s, "a"), &err), -1);
	assert_int_equal(err.code, ERR_IO);
	assert_int_equal(access(scratch_path(s, "a"), F_OK), -1);
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(entries_are_staged_for_their_maker),
		scratch_test(the_digest_tells_trees_apart),
		scratch_test(control_characters_are_refused),
		scratch_test(an_archive_is_unpacked_and_listed),
		scratch_test(an_archive_cannot_leave_its_directory),
		scratch_test(what_was_replaced_is_not_listed),
		scratch_test(a_link_to_nothing_is_refused),
		scratch_test(a_file_system_is_made_and_the_same_again),
		scratch_test(no_name_is_taken_for_a_command),
		scratch_test(what_does_not_fit_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
