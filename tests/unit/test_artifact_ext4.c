/* SPDX-License-Identifier: MIT */
/* Tests the file system of an image's contents. */
#include "image_contents.h"

#include <ext2fs/ext2fs.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "artifact/artifact.h"
#include "artifact/digest.h"
#include "artifact/ext4.h"
#include "artifact/tool.h"
#include "base/program.h"

static const struct ext4_spec small = {.label = "test",
				       .uuid = "6d696372-6f61-4765-8e74-2d7465737400",
				       .size = 32 << 20,
				       .journal_mib = 4,
				       .inodes = 4096,
				       .time = TIME};

static void add(struct contents *c, const char *path, mode_t mode, const char *text)
{
	struct error err = {0};

	assert_ok(rootfs_add(c->fs, path, mode, 0, text, &err));
}

/* Makes a file of that many bytes, with `data` at an offset. */
static struct rootfs_file *put_data(struct contents *c, const char *path, const char *data,
				    uint64_t at, uint64_t bytes)
{
	struct error err = {0};
	struct rootfs_file *file = rootfs_file_new(S_IFREG | 0644, &err);
	autoclose int fd = rootfs_open_data(c->fs, file, bytes, &err);

	assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	assert_int_equal(pwrite(fd, data, strlen(data), (off_t)at), strlen(data));
	assert_ok(rootfs_put(c->fs, path, file, &err));
	return file;
}

static void make_image(struct contents *c, const char *name)
{
	struct error err = {0};

	assert_ok(ext4_make(&small, c->fs, scratch_path(c->s, name), &err));
}

/* Requires that it does not exist, and returns why. */
static void make_fails(struct contents *c, const struct ext4_spec *spec, enum error_code code,
		       const char *said)
{
	struct error err = {0};

	assert_int_equal(ext4_make(spec, c->fs, scratch_path(c->s, "none"), &err), -1);
	assert_code(err, code);
	if (!strstr(err.msg, said))
		fail_msg("\"%s\" is not in \"%s\"", said, err.msg);
	assert_int_equal(access(scratch_path(c->s, "none"), F_OK), -1);
}

static ext2_filsys open_image(const struct contents *c, const char *name)
{
	ext2_filsys fs;

	assert_int_equal(ext2fs_open2(scratch_path(c->s, name), NULL, EXT2_FLAG_64BITS, 0, 0,
				      unix_io_manager, &fs),
			 0);
	return fs;
}

/* Returns the inode of a name in the root, which may be any bytes; 0 if there is none. */
static ext2_ino_t number_of(ext2_filsys fs, ext2_ino_t dir, const char *name)
{
	ext2_ino_t found;

	return ext2fs_lookup(fs, dir, name, (int)strlen(name), NULL, &found) == 0 ? found : 0;
}

static struct ext2_inode_large inode_of(ext2_filsys fs, const char *name)
{
	ext2_ino_t number = number_of(fs, EXT2_ROOT_INO, name);
	struct ext2_inode_large inode;

	assert_int_not_equal(number, 0);
	assert_int_equal(
		ext2fs_read_inode_full(fs, number, (struct ext2_inode *)&inode, sizeof(inode)), 0);
	return inode;
}

static void debugfs(const char *image, const char *request, const char *expected)
{
	autofree char *program = program_in_path("debugfs");
	const char *const argv[] = {program, "-R", request, image, NULL};
	autobuf struct buf out = BUF_INIT(1 << 20);
	const struct tool tool = {.argv = argv, .out = &out};
	struct error err = {0};

	assert_non_null(program);
	if (tool_run(&tool, &err) < 0)
		fail_msg("%s", err.msg);
	if (!strstr(buf_string(&out), expected))
		fail_msg("%s: %s not in: %s", request, expected, buf_string(&out));
}

static void fill(struct contents *c)
{
	struct error err = {0};

	add(c, "/", S_IFDIR | 0751, NULL);
	assert_ok(rootfs_add(c->fs, "/home", S_IFDIR | 0755, 1000, NULL, &err));
	add(c, "/home/a \"b\"", S_IFREG | 04711, "text");
	assert_ok(rootfs_add_copy(c->fs, "/passwd", 0, "/etc/passwd", &err));
	add(c, "/link", S_IFLNK | 0777, "/home");
	put_data(c, "/sparse", "end", 5000000, 5000003);
	assert_ok(rootfs_link(c->fs, "/again", "/sparse", &err));
}

static void a_file_system_is_made_and_the_same_again(void **state)
{
	char a[DIGEST_TEXT], b[DIGEST_TEXT];
	struct error err = {0};
	struct contents c;

	for (const char *name = "ab"; *name; name++) {
		begin(&c, state);
		fill(&c);
		make_image(&c, *name == 'a' ? "a" : "b");
		end(&c);
	}
	assert_ok(digest_file(scratch_path(c.s, "a"), a, &err));
	assert_ok(digest_file(scratch_path(c.s, "b"), b, &err));
	assert_string_equal(a, b);
	debugfs(scratch_path(c.s, "a"), "stat \"/home/a \"\"b\"\"\"", "Mode:  04711");
	debugfs(scratch_path(c.s, "a"), "stat /home", "User:  1000   Group:  1000");
	debugfs(scratch_path(c.s, "a"), "stat /", "Mode:  0751");
	debugfs(scratch_path(c.s, "a"), "stat /passwd", "Mode:  0000");
	debugfs(scratch_path(c.s, "a"), "cat /passwd", "root:");
	debugfs(scratch_path(c.s, "a"), "stat /link", "Type: symlink");
	debugfs(scratch_path(c.s, "a"), "stat /again", "Links: 2   Blockcount: 8");
	debugfs(scratch_path(c.s, "a"), "stats -h", "Filesystem UUID:          6d696372");
	debugfs(scratch_path(c.s, "a"), "stat /lost+found", "Mode:  0700");
}

/* Holes depend on the contents of a file, and not on the host's file. */
static void zeros_are_holes(void **state)
{
	struct contents c;
	char *zeros = calloc(1, 3 * 4096 + 1);
	ext2_filsys fs;

	memset(zeros, '1', 3 * 4096);
	begin(&c, state);
	put_data(&c, "full", zeros, 0, 3 * 4096);
	put_data(&c, "holes", "x", 9 << 20, 10 << 20);
	memset(zeros + 4096, 0, 4096);
	assert_int_equal(put_data(&c, "middle", "1", 0, 3 * 4096)->bytes, 3 * 4096);
	make_image(&c, "image");
	fs = open_image(&c, "image");
	assert_int_equal(inode_of(fs, "full").i_blocks, 3 * 8);
	assert_int_equal(inode_of(fs, "holes").i_blocks, 8);
	assert_int_equal(inode_of(fs, "holes").i_size, 10 << 20);
	assert_int_equal(inode_of(fs, "middle").i_blocks, 8);
	ext2fs_close(fs);
	end(&c);
	free(zeros);
}

/* Each odd block has only zeros: so there are more pieces than one block of extents can name. */
static void a_file_may_be_in_many_pieces(void **state)
{
	const size_t pieces = 700;
	struct contents c;
	struct error err = {0};
	struct rootfs_file *file;
	ext2_filsys fs;
	char name[32];

	begin(&c, state);
	file = put_data(&c, "f", "0", 0, pieces * 8192);
	snprintf(name, sizeof(name), "data/%d", (int)file->data);
	autoclose int fd = open(scratch_path(c.s, name), O_WRONLY | O_CLOEXEC);
	for (size_t i = 0; i < pieces; i++)
		assert_int_equal(pwrite(fd, &i, sizeof(i), (off_t)(i * 8192 + 1)), sizeof(i));
	make_image(&c, "image");
	fs = open_image(&c, "image");
	assert_true(inode_of(fs, "f").i_blocks > pieces * 8);
	for (blk64_t i = 0; i < 2 * pieces; i++) {
		blk64_t block = 1;

		assert_int_equal(ext2fs_bmap2(fs, number_of(fs, EXT2_ROOT_INO, "f"), NULL, NULL, 0,
					      i, NULL, &block),
				 0);
		assert_int_equal(block != 0, i % 2 == 0);
	}
	ext2fs_close(fs);
	assert_int_equal(err.code, ERR_NONE);
	end(&c);
}

/* Each name costs a few bytes of a directory and nothing else. */
static void names_are_any_bytes(void **state)
{
	static const char *const names[] = {"a\nsif . uid 0", "\x1b[2J\x7f", "\"", "\"\"",
					    "back\\slash",    "-l",	     "--", " ",
					    "\xff\xfe",	      "!touch x",    "#",  "<2>"};
	struct contents c;
	char longest[256] = "";
	ext2_filsys fs;

	memset(longest, '"', 255);
	begin(&c, state);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add(&c, names[i], S_IFREG | 0600, names[i]);
	add(&c, longest, S_IFREG | 0640, "");
	make_image(&c, "image");
	fs = open_image(&c, "image");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(inode_of(fs, names[i]).i_size, strlen(names[i]));
	assert_int_equal(inode_of(fs, longest).i_mode, S_IFREG | 0640);
	ext2fs_close(fs);
	end(&c);
}

/* A directory of more than one block, with names of every length. */
static void a_directory_may_be_large(void **state)
{
	struct contents c;
	ext2_filsys fs;
	char name[256];

	begin(&c, state);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "d/%0*d", i % 250 + 4, i);
		add(&c, name, S_IFREG | 0600, "");
	}
	make_image(&c, "image");
	fs = open_image(&c, "image");
	assert_true(inode_of(fs, "d").i_size > 60 * 4096);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "%0*d", i % 250 + 4, i);
		assert_int_not_equal(number_of(fs, number_of(fs, EXT2_ROOT_INO, "d"), name), 0);
	}
	assert_int_equal(fs->super->s_free_inodes_count, fs->super->s_inodes_count - 11 - 2001);
	ext2fs_close(fs);
	end(&c);
}

static void links_are_short_or_long(void **state)
{
	struct contents c;
	ext2_filsys fs;
	char target[4001] = "";

	begin(&c, state);
	for (int len = 59; len <= 60; len++) {
		memset(target, 't', (size_t)len);
		add(&c, len == 59 ? "short" : "long", S_IFLNK | 0777, target);
	}
	memset(target, 't', 4000);
	add(&c, "longest", S_IFLNK | 0777, target);
	make_image(&c, "image");
	fs = open_image(&c, "image");
	assert_int_equal(inode_of(fs, "short").i_blocks, 0);
	assert_int_equal(inode_of(fs, "long").i_blocks, 8);
	assert_int_equal(inode_of(fs, "longest").i_size, 4000);
	ext2fs_close(fs);
	debugfs(scratch_path(c.s, "image"), "stat short", "Fast link dest: \"ttttt");
	end(&c);
}

/* Seconds after 2038, and their fractions. */
static void times_are_kept_to_the_nanosecond(void **state)
{
	struct error err = {0};
	struct contents c;
	struct rootfs_file *file = rootfs_file_new(S_IFIFO | 0600, &err);
	ext2_filsys fs;

	begin(&c, state);
	file->time = INT64_C(1) << 32;
	file->nsec = 999999999;
	file->uid = 70000;
	file->gid = 80000;
	assert_ok(rootfs_put(c.fs, "pipe", file, &err));
	make_image(&c, "image");
	fs = open_image(&c, "image");
	struct ext2_inode_large inode = inode_of(fs, "pipe");
	assert_int_equal(inode.i_mtime, 0);
	assert_int_equal(inode.i_mtime_extra, 999999999u << 2 | 1);
	assert_int_equal(inode.i_crtime_extra, inode.i_mtime_extra);
	assert_int_equal(inode_uid(inode), 70000);
	assert_int_equal(inode_gid(inode), 80000);
	assert_int_equal(inode.i_mode, S_IFIFO | 0600);
	assert_int_equal(inode_of(fs, "lost+found").i_mtime, TIME);
	ext2fs_close(fs);
	end(&c);
}

static void give_xattr(struct rootfs_file *file, const char *name, const void *value, size_t len)
{
	struct rootfs_xattr *x = &file->xattrs[file->xattr_count++];

	*x = (struct rootfs_xattr){.name = strdup(name), .value = malloc(len + 1), .len = len};
	memcpy(x->value, value, len);
}

static void attributes_are_kept(void **state)
{
	static const char capability[20] = "\x01\x00\x00\x02\x00\x04";
	char longest[256] = "user.", value[3500];
	struct error err = {0};
	struct contents c;
	struct rootfs_file *file = rootfs_file_new(S_IFREG | 0644, &err);

	memset(longest + 5, '"', 250);
	memset(value, 'v', sizeof(value));
	begin(&c, state);
	file->xattrs = calloc(5, sizeof(*file->xattrs));
	give_xattr(file, "security.capability", capability, sizeof(capability));
	give_xattr(file, "user.a line\nbreak", "x", 1);
	give_xattr(file, "user.none", "", 0);
	give_xattr(file, longest, "x", 1);
	give_xattr(file, "trusted.large", value, sizeof(value)); /* in a block of its own */
	assert_ok(rootfs_put(c.fs, "f", file, &err));
	make_image(&c, "image");
	ext2_filsys fs = open_image(&c, "image");
	struct ext2_xattr_handle *handle;
	assert_int_equal(ext2fs_xattrs_open(fs, number_of(fs, EXT2_ROOT_INO, "f"), &handle), 0);
	assert_int_equal(ext2fs_xattrs_read(handle), 0);
	for (size_t i = 0; i < file->xattr_count; i++) {
		void *found;
		size_t len;

		assert_int_equal(ext2fs_xattr_get(handle, file->xattrs[i].name, &found, &len), 0);
		assert_int_equal(len, file->xattrs[i].len);
		assert_memory_equal(found, file->xattrs[i].value, len);
		ext2fs_free_mem(&found);
	}
	ext2fs_xattrs_close(&handle);
	ext2fs_close(fs);
	end(&c);
}

static void attributes_that_do_not_fit_are_an_error(void **state)
{
	struct error err = {0};
	struct contents c;
	struct rootfs_file *file = rootfs_file_new(S_IFREG | 0644, &err);
	char value[4096] = "";

	begin(&c, state);
	file->xattrs = calloc(1, sizeof(*file->xattrs));
	give_xattr(file, "user.large", value, sizeof(value));
	assert_ok(rootfs_put(c.fs, "f", file, &err));
	make_fails(&c, &small, ERR_IO, "extended attributes");
	end(&c);
}

/* mke2fs has made one, and e2fsck needs it. */
static void lost_found_may_be_the_image_s_own(void **state)
{
	struct error err = {0};
	struct contents c;
	ext2_filsys fs;

	begin(&c, state);
	assert_ok(rootfs_add(c.fs, "lost+found", S_IFDIR | 0711, 5, NULL, &err));
	add(&c, "lost+found/f", S_IFREG | 0600, "x");
	add(&c, "d/lost+found", S_IFREG | 0600, "x");
	make_image(&c, "image");
	fs = open_image(&c, "image");
	assert_int_equal(number_of(fs, EXT2_ROOT_INO, "lost+found"), 11);
	assert_int_equal(inode_of(fs, "lost+found").i_mode, S_IFDIR | 0711);
	assert_int_equal(inode_of(fs, "lost+found").i_uid, 5);
	assert_int_not_equal(number_of(fs, 11, "f"), 0);
	ext2fs_close(fs);
	end(&c);
	begin(&c, state);
	add(&c, "f", S_IFREG | 0600, "x");
	assert_ok(rootfs_link(c.fs, "lost+found", "f", &err));
	make_fails(&c, &small, ERR_UNSUPPORTED, "lost+found");
	end(&c);
}

static void a_file_has_a_bounded_number_of_names(void **state)
{
	struct error err = {0};
	struct contents c;
	char name[24];

	begin(&c, state);
	add(&c, "f", S_IFREG | 0600, "x");
	for (int i = 0; i < 65000; i++) {
		snprintf(name, sizeof(name), "d/%d", i);
		assert_ok(rootfs_link(c.fs, name, "f", &err));
	}
	make_fails(&c, &small, ERR_UNSUPPORTED, "more than 65000 names");
	assert_ok(rootfs_hide(c.fs, "d/0", &err)); /* of the same layer: it stays */
	end(&c);
}

static void what_does_not_fit_is_an_error(void **state)
{
	const struct ext4_spec tiny = {.label = "test",
				       .uuid = "6d696372-6f61-4765-8e74-2d7465737400",
				       .size = 64 << 10,
				       .journal_mib = 4,
				       .time = TIME};
	struct ext4_spec few = small;
	struct contents c;
	char name[16];

	begin(&c, state);
	fill(&c);
	make_fails(&c, &tiny, ERR_IO, "mke2fs");
	end(&c);
	begin(&c, state);
	for (int i = 0; i < 70; i++) {
		char *text = calloc(1, (1 << 19) + 1);

		memset(text, 't', 1 << 19);
		snprintf(name, sizeof(name), "%d", i);
		add(&c, name, S_IFREG | 0600, text);
		free(text);
	}
	make_fails(&c, &small, ERR_IO, "is full");
	end(&c);
	begin(&c, state);
	few.inodes = 16;
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "%d", i);
		add(&c, name, S_IFREG | 0600, "x");
	}
	make_fails(&c, &few, ERR_IO, "is full");
	end(&c);
}

/* The host takes no file of that size. */
static void a_write_that_fails_leaves_nothing(void **state)
{
	const struct rlimit none = {0, RLIM_INFINITY};
	struct rlimit before;
	struct contents c;

	begin(&c, state);
	put_data(&c, "f", "x", 0, 1);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	make_fails(&c, &small, ERR_IO, "too large");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	end(&c);
}

/* While mke2fs runs, and while its file system is being filled. */
static void a_signal_leaves_nothing(void **state)
{
	struct error err = {0};
	struct contents c, empty;

	begin(&empty, state);
	make_image(&empty, "image");
	end(&empty);
	begin(&c, state);
	fill(&c);
	artifact_catch_signals();
	raise(SIGTERM);
	make_fails(&c, &small, ERR_UNAVAILABLE, "interrupted");
	assert_int_equal(ext4_write(&small, c.fs, scratch_path(c.s, "image"), &err), -1);
	assert_code(err, ERR_UNAVAILABLE);
	end(&c);
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_file_system_is_made_and_the_same_again),
		scratch_test(zeros_are_holes),
		scratch_test(a_file_may_be_in_many_pieces),
		scratch_test(names_are_any_bytes),
		scratch_test(a_directory_may_be_large),
		scratch_test(links_are_short_or_long),
		scratch_test(times_are_kept_to_the_nanosecond),
		scratch_test(attributes_are_kept),
		scratch_test(attributes_that_do_not_fit_are_an_error),
		scratch_test(lost_found_may_be_the_image_s_own),
		scratch_test(a_file_has_a_bounded_number_of_names),
		scratch_test(what_does_not_fit_is_an_error),
		scratch_test(a_write_that_fails_leaves_nothing),
		/* The last one: the signal stays noted. */
		scratch_test(a_signal_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
