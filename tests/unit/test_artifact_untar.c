/* SPDX-License-Identifier: MIT */
/* Tests archives that stand alone, hostile ones too: their unpacked contents, and why they are
 * refused. */
#include "image_contents.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include "artifact/layer.h"
#include "base/limits.h"
#include "tar_entries.h"

static const struct layer_bounds any = {.bytes = UINT64_MAX, .count = UINT64_MAX};

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

static int unpack(struct contents *c, const struct layer_bounds *bounds, struct error *err)
{
	const char *path = scratch_path(c->s, "t.tar");
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

	return layer_unpack(c->fs, fd, path, bounds, err);
}

static void an_archive_is_unpacked(void **state)
{
	static const struct member members[] = {
		{"./", NULL, NULL, S_IFDIR | 0755, 0},
		{"./closed/", NULL, NULL, S_IFDIR | 0555, 0},
		{"./closed/secret", NULL, NULL, S_IFREG | 0000, 42},
		{"./F\303\266tan\303\272", NULL, NULL, S_IFREG | 04755, 0},
		{"./hard", NULL, "./closed/secret", S_IFREG | 0000, 42},
		{"./link", "closed", NULL, S_IFLNK | 0777, 0},
		{"./null", NULL, NULL, S_IFCHR | 0666, 0},
		{"./pipe", NULL, NULL, S_IFIFO | 0666, 0},
		{"./.wh.link", NULL, NULL, S_IFREG | 0644, 0},
	};
	struct error err = {0};
	struct contents c;

	begin(&c, state);
	write_tar(scratch_path(c.s, "t.tar"), members, ARRAY_SIZE(members));
	assert_ok(unpack(&c, &any, &err));
	assert_int_equal(rootfs_count(c.fs), 6);
	assert_int_equal(rootfs_find(c.fs, "/")->mode, S_IFDIR | 0755);
	assert_int_equal(rootfs_find(c.fs, "/closed")->mode, S_IFDIR | 0555);
	assert_int_equal(rootfs_find(c.fs, "/closed/secret")->mode, S_IFREG);
	assert_int_equal(rootfs_find(c.fs, "/closed/secret")->uid, 42);
	assert_int_equal(rootfs_find(c.fs, "/closed/secret")->gid, 7);
	assert_int_equal(rootfs_find(c.fs, "/closed/secret")->bytes, 4);
	assert_int_equal(rootfs_find(c.fs, "/F\303\266tan\303\272")->mode, S_IFREG | 04755);
	assert_int_equal(rootfs_find(c.fs, "/link")->time, 5000);
	assert_ptr_equal(rootfs_find(c.fs, "/hard"), rootfs_find(c.fs, "/closed/secret"));
	assert_null(rootfs_find(c.fs, "/null"));
	assert_null(rootfs_find(c.fs, "/pipe"));
	assert_int_equal(rootfs_find(c.fs, "/.wh.link")->bytes, 4); /* it is no layer */
	end(&c);
}

/* Requires that the archive of one or two entries is refused, with that word. */
static void refused(void **state, const struct member *members, size_t count, const char *said)
{
	const struct rootfs_bounds straight = {
		.bytes = UINT64_MAX, .count = UINT64_MAX, .text = UINT64_MAX, .straight = true};
	struct error err = {0};
	struct contents c;

	begin_bounded(&c, state, &straight);
	write_tar(scratch_path(c.s, "t.tar"), members, count);
	assert_int_equal(unpack(&c, &any, &err), -1);
	assert_code(err, ERR_INVALID);
	if (!strstr(err.msg, said) || !strstr(err.msg, "unpacking "))
		fail_msg("\"%s\" is not in \"%s\"", said, err.msg);
	end(&c);
}

static void an_archive_cannot_leave_its_directory(void **state)
{
	static const struct member up[] = {{"../escaped", NULL, NULL, S_IFREG | 0644, 0}};
	static const struct member root[] = {{"/escaped", NULL, NULL, S_IFREG | 0644, 0}};
	static const struct member through[] = {{"out", "..", NULL, S_IFLNK | 0777, 0},
						{"out/escaped", NULL, NULL, S_IFREG | 0644, 0}};
	static const struct member hard[] = {{"out", "/etc", NULL, S_IFLNK | 0777, 0},
					     {"h", NULL, "out/passwd", S_IFREG | 0644, 0}};
	static const struct member far[] = {{"h", NULL, "/etc/passwd", S_IFREG | 0644, 0}};

	refused(state, up, 1, "\"..\"");
	refused(state, root, 1, "absolute");
	refused(state, through, 2, "a symbolic link");
	refused(state, hard, 2, "a symbolic link");
	refused(state, far, 1, "absolute");
}

/* In any order: the last entry counts, with its own owner. */
static void entries_take_the_place_of_others(void **state)
{
	static const struct member members[] = {
		{"g", NULL, NULL, S_IFREG | 0644, 1}, {"f", "g", NULL, S_IFLNK | 0777, 2},
		{"f", NULL, "g", S_IFREG | 0644, 3},  {"d", NULL, NULL, S_IFDIR | 0755, 4},
		{"d", NULL, NULL, S_IFREG | 0644, 5},
	};
	struct error err = {0};
	struct contents c;

	begin(&c, state);
	write_tar(scratch_path(c.s, "t.tar"), members, ARRAY_SIZE(members));
	assert_ok(unpack(&c, &any, &err));
	assert_int_equal(rootfs_count(c.fs), 3);
	assert_ptr_equal(rootfs_find(c.fs, "/f"), rootfs_find(c.fs, "/g"));
	assert_int_equal(rootfs_find(c.fs, "/g")->uid, 1);
	assert_int_equal(rootfs_find(c.fs, "/d")->uid, 5);
	end(&c);
}

static void a_link_to_nothing_is_refused(void **state)
{
	static const struct member members[] = {{"l", "", NULL, S_IFLNK | 0777, 0}};

	refused(state, members, 1,
		"the archive is damaged, because it has a link whose target is empty or too long");
}

/* Also if each file replaces the one before, so that nothing of them is left. */
static void an_archive_is_bounded_in_all(void **state)
{
	static const struct member members[] = {{"f", NULL, NULL, S_IFREG | 0644, 0},
						{"f", NULL, NULL, S_IFREG | 0644, 0},
						{"f", NULL, NULL, S_IFREG | 0644, 0}};
	const struct layer_bounds bytes = {.bytes = 8195, .count = UINT64_MAX};
	const struct layer_bounds count = {.bytes = UINT64_MAX, .count = 2};
	struct error err = {0};
	struct contents c;

	begin(&c, state);
	write_tar(scratch_path(c.s, "t.tar"), members, ARRAY_SIZE(members));
	assert_int_equal(unpack(&c, &bytes, &err), -1);
	assert_non_null(strstr(err.msg, "more than 8195 bytes"));
	assert_int_equal(unpack(&c, &count, &err), -1);
	assert_non_null(strstr(err.msg, "more than 2 files"));
	write_tar(scratch_path(c.s, "t.tar"), members, 2);
	assert_ok(unpack(&c, &bytes, &err));
	end(&c);
}

static void special_headers_are_bounded(void **state)
{
	const struct layer_bounds bounds = {.bytes = 1 << 20, .count = 2};
	const struct tar_entry last = {.type = '5', .name = "d", .mode = 0755};
	autobuf struct buf tar = BUF_INIT(0);
	struct error err = {0};
	struct contents c;

	begin(&c, state);
	for (int i = 0; i < 3; i++)
		tar_put_comment(&tar, 'g', 1 << 20);
	tar_put(&tar, &last);
	tar_end(&tar);
	assert_ok(path_replace_file_at(c.s->fd, "t.tar", buf_bytes(&tar), tar.len, 0600,
				       PATH_NO_SYNC, &err));
	limit_set(LIMIT_LAYER_TAIL_BYTES, 1 << 20);
	assert_int_equal(unpack(&c, &bounds, &err), -1);
	limit_set(LIMIT_LAYER_TAIL_BYTES, 64 << 20);
	assert_code(err, ERR_INVALID);
	assert_non_null(strstr(err.msg, "the archive unpacks, with its headers and the "
					"files that it replaces, to more than 2 MiB"));
	assert_null(rootfs_find(c.fs, "/d"));
	assert_ok(unpack(&c, &bounds, &err));
	end(&c);
}

static void an_empty_file_is_no_archive(void **state)
{
	struct error err = {0};
	struct contents c;

	begin(&c, state);
	assert_ok(path_replace_file_at(c.s->fd, "t.tar", "", 0, 0600, PATH_NO_SYNC, &err));
	assert_int_equal(unpack(&c, &any, &err), -1);
	assert_code(err, ERR_INVALID);
	end(&c);
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(an_archive_is_unpacked),
		scratch_test(an_archive_cannot_leave_its_directory),
		scratch_test(entries_take_the_place_of_others),
		scratch_test(a_link_to_nothing_is_refused),
		scratch_test(an_archive_is_bounded_in_all),
		scratch_test(special_headers_are_bounded),
		scratch_test(an_empty_file_is_no_archive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
