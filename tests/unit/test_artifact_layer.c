/* SPDX-License-Identifier: MIT */
/* Tests layers of an image, hostile ones too: the result when they are applied one after the other,
 * and why they are refused. */
#include "layer_fixture.h"

#include <archive.h>
#include <archive_entry.h>

#include "base/limits.h"

/* Requires that a layer of this one entry is refused. */
static void refuses(void **state, char type, const char *name, const char *more, const char *said)
{
	struct making m;

	make(&m, state);
	put(&m, type, name, more);
	refused(&m, said);
	unmake(&m);
	assert_int_equal(path_remove_tree_at(m.scratch->fd, "data", NULL), 0);
}

static bool is_there(const struct making *m, const char *path)
{
	return rootfs_find(m->fs, path) != NULL;
}

static void layers_hide_what_is_below_them(void **state)
{
	struct making m;

	make(&m, state);
	put(&m, '0', "gone", "x");
	put(&m, '0', "d/low", "x");
	put(&m, '0', "d/sub/low", "x");
	put(&m, '2', "l", "d");
	applies(&m);
	put(&m, '0', "d/high", "x"); /* before the word that hides: it is of this layer */
	put(&m, '0', "d/.wh..wh..opq", NULL);
	put(&m, '0', ".wh.gone", NULL);
	put(&m, '0', ".wh..wh.plnk", NULL);
	put(&m, '0', "l/.wh.sub", NULL);
	put(&m, '0', ".wh.never", NULL);
	applies(&m);
	assert_true(is_there(&m, "/d/high") && is_there(&m, "/l"));
	assert_false(is_there(&m, "/gone") || is_there(&m, "/d/low") || is_there(&m, "/d/sub"));
	assert_int_equal(rootfs_count(m.fs), 3);
	unmake(&m);
}

static void what_hides_nothing_is_refused(void **state)
{
	refuses(state, '0', ".wh.", NULL, "marks a deleted file, but names none");
	refuses(state, '0', "d/.wh..", NULL, "marks a deleted file, but names none");
	refuses(state, '0', "d/.wh...", NULL, "marks a deleted file, but names none");
	refuses(state, '0', ".wh.f", "x", "has contents");
}

static void no_path_leads_up(void **state)
{
	refuses(state, '0', "../f", "x", "\"..\"");
	refuses(state, '0', "a/../f", "x", "\"..\"");
	refuses(state, '5', "a/..", NULL, "\"..\"");
	refuses(state, '0', "../.wh.f", NULL, "\"..\"");
	refuses(state, '1', "h", "../f", "\"..\"");
	refuses(state, '1', "h", "/etc/passwd", "which does not exist");
	refuses(state, '1', "h", "/", "which does not exist");
	refuses(state, '2', "l", "",
		"the archive is damaged, because it has a link whose target is empty or too long");
}

/* Links are resolved in the image. Nothing is above its root. */
static void links_stay_in_the_image(void **state)
{
	struct making m;

	make(&m, state);
	put(&m, '2', "up", "../../..");
	put(&m, '0', "up/f", "x");
	put(&m, '2', "abs", "/tmp");
	put(&m, '0', "abs/g", "x");
	put(&m, '0', "/absolute", "x");
	put(&m, '1', "hard", "up/f");
	applies(&m);
	assert_true(is_there(&m, "/f") && is_there(&m, "/tmp/g") && is_there(&m, "/absolute"));
	assert_int_equal(rootfs_find(m.fs, "/hard")->names, 2);
	unmake(&m);
}

static void links_in_a_circle_are_refused(void **state)
{
	struct making m;

	make(&m, state);
	put(&m, '2', "a", "b");
	put(&m, '2', "b", "a/c");
	put(&m, '0', "a/f", "x");
	refused(&m, "too many links");
	unmake(&m);
}

/* The last file counts, and the space of the replaced one is free again. */
static void entries_replace_each_other(void **state)
{
	struct making m;
	char block[4097];

	memset(block, 'x', sizeof(block) - 1);
	block[sizeof(block) - 1] = '\0';
	make(&m, state);
	for (int i = 0; i < 3; i++) {
		put(&m, '0', "f", block);
		put(&m, '1', "f", "f"); /* to itself */
		put(&m, '5', "f", NULL);
		put(&m, '0', "f/g", block);
		put(&m, '1', "f", "f/g"); /* takes the place of the directory that it was in */
		put(&m, '1', "again", "f");
	}
	applies(&m);
	assert_int_equal(rootfs_count(m.fs), 2);
	assert_int_equal(rootfs_bytes(m.fs), 4096);
	put(&m, '0', ".wh.f", NULL);
	applies(&m);
	assert_int_equal(rootfs_bytes(m.fs), 4096);
	put(&m, '0', ".wh.again", NULL);
	applies(&m);
	assert_int_equal(rootfs_bytes(m.fs), 0);
	assert_int_equal(rootfs_count(m.fs), 0);
	unmake(&m);
}

static void devices_are_left_out(void **state)
{
	static const char types[] = {'3', '4'};
	struct making m;

	make(&m, state);
	for (size_t i = 0; i < sizeof(types); i++)
		put(&m, types[i], "dev/null", NULL);
	put(&m, '6', "pipe", NULL);
	put(&m, '0', "sda", "what a layer below had");
	applies(&m);
	put(&m, '4', "sda", NULL);
	applies(&m);
	assert_int_equal(rootfs_count(m.fs), 1);
	assert_true(is_there(&m, "/pipe"));
	unmake(&m);
}

static void attributes_are_those_that_ext4_has(void **state)
{
	char name[400] = "SCHILY.xattr.user.";
	struct making m;

	make(&m, state);
	tar_pax(&m.tar, "SCHILY.xattr.user.note", "kept", 4);
	put(&m, '0', "f", NULL);
	tar_pax(&m.tar, "SCHILY.xattr.system.data", "x", 1);
	put(&m, '0', "g", NULL);
	tar_pax(&m.tar, "SCHILY.xattr.user.", "x", 1);
	put(&m, '0', "h", NULL);
	tar_pax(&m.tar, "SCHILY.xattr.system.posix_acl_none", "x", 1);
	put(&m, '0', "i", NULL);
	applies(&m);
	memset(name + strlen(name), 'n', 251);
	tar_pax(&m.tar, name, "x", 1);
	put(&m, '0', "long", NULL);
	refused(&m, "longer than 255 bytes");
	assert_int_equal(rootfs_count(m.fs), 4);
	assert_int_equal(rootfs_find(m.fs, "f")->xattr_count, 1);
	assert_int_equal(rootfs_find(m.fs, "g")->xattr_count, 0);
	assert_int_equal(rootfs_find(m.fs, "h")->xattr_count, 0);
	assert_int_equal(rootfs_find(m.fs, "i")->xattr_count, 0);
	unmake(&m);
}

/* All bytes except "=", where a pax header's key ends. */
static void names_of_attributes_are_bytes(void **state)
{
	static const char *const names[] = {"user.with space", "user.\"; !x", "user.line\nbreak",
					    "user.\x1b[2J", "user.\xff"};
	char key[64], longest[300] = "SCHILY.xattr.user.";
	autobuf struct buf records = BUF_INIT(0);
	struct making m;

	make(&m, state);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(key, sizeof(key), "SCHILY.xattr.%s", names[i]);
		tar_pax_record(&records, key, "x", 1);
	}
	memset(longest + strlen(longest), '"', 250);
	tar_pax_record(&records, longest, "x", 1);
	tar_put(&m.tar, &(struct tar_entry){.type = 'x',
					    .name = "pax",
					    .data = buf_bytes(&records),
					    .len = records.len,
					    .size = records.len});
	put(&m, '0', "f", NULL);
	applies(&m);
	assert_int_equal(rootfs_find(m.fs, "f")->xattr_count, ARRAY_SIZE(names) + 1);
	unmake(&m);
}

/* The layer may end at any byte: an error, or the entries that were complete. */
static void a_layer_may_end_anywhere(void **state)
{
	struct making m;
	size_t len;

	make(&m, state);
	tar_pax(&m.tar, "path", "by/pax", 6);
	put(&m, '0', "f", "contents");
	put(&m, '5', "d", NULL);
	put(&m, '2', "l", "d");
	len = m.tar.len;
	for (size_t cut = 0; cut<len; cut += cut % 512> 500 ? 1 : 83) {
		struct error err = {0};

		if (apply_cut(&m, cut, &err) < 0)
			assert_true(*err.msg);
	}
	assert_true(rootfs_count(m.fs) <= 4);
	unmake(&m);
}

/* Bytes that are no UTF-8, and all characters that mean something to a shell or a terminal. */
static void names_are_bytes(void **state)
{
	static const char *const names[] = {"\xff\xfe", "a \"b\" c",   "back\\slash", "-l",
					    "$(x)",	";!x",	       "#x",	      " ",
					    "<12>",	"line\nbreak", "\x1b[2J\x7f"};
	struct making m;

	make(&m, state);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put(&m, '0', names[i], "x");
	applies(&m);
	assert_int_equal(rootfs_count(m.fs), ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(is_there(&m, names[i]));
	unmake(&m);
}

/* --- what a layer is known by ---------------------------------------------------------------- */

static int apply_bytes(struct making *m, const void *bytes, size_t len, struct error *err)
{
	buf_free(&m->tar);
	m->tar = (struct buf)BUF_INIT(0);
	assert_int_equal(buf_append(&m->tar, bytes, len, err), 0);
	return apply_cut(m, len, err);
}

/* Makes one file, and the end that archives have, with so many bytes after it. */
static void put_archive(struct making *m, size_t behind, char expected[DIGEST_TEXT])
{
	autofree char *more = calloc(behind + 1, 1);
	struct error err = {0};

	put(m, '0', "f", "contents");
	tar_end(&m->tar);
	if (behind)
		more[behind - 1] = 'x';
	assert_ok(buf_append(&m->tar, more, behind, &err));
	assert_ok(digest_bytes(buf_bytes(&m->tar), m->tar.len, expected, &err));
}

/* Also those after the end, of which no file is made: the digest in the configuration covers all
 * bytes. */
static void a_layer_is_hashed_to_its_last_byte(void **state)
{
	static const size_t tails[] = {0, 1, 10240, 3 << 20};
	char expected[DIGEST_TEXT];
	struct error err = {0};
	struct making m;

	make(&m, state);
	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		put_archive(&m, tails[i], expected);
		assert_ok(apply_cut(&m, m.tar.len, &err));
		assert_string_equal(m.diff_id, expected);
		buf_free(&m.tar);
		m.tar = (struct buf)BUF_INIT(0);
	}
	assert_true(is_there(&m, "/f"));
	assert_ok(apply_bytes(&m, "", 0, &err));
	assert_ok(digest_bytes("", 0, expected, &err));
	assert_string_equal(m.diff_id, expected);
	unmake(&m);
}

/* The same bytes, in each way that layers are compressed. */
static void a_layer_is_hashed_as_it_is_unpacked(void **state)
{
	static const struct {
		const char *name;
		int (*add)(struct archive *archive);
	} packings[] = {{"gzip", archive_write_add_filter_gzip},
			{"bzip2", archive_write_add_filter_bzip2},
			{"xz", archive_write_add_filter_xz},
			{"zstd", archive_write_add_filter_zstd}};
	char expected[DIGEST_TEXT];
	struct making m;

	make(&m, state);
	put_archive(&m, 5000, expected);
	for (size_t i = 0; i < ARRAY_SIZE(packings); i++) {
		struct archive *archive = archive_write_new();
		struct archive_entry *entry = archive_entry_new();
		static char packed[65536];
		autobuf struct buf plain = BUF_INIT(0);
		struct error err = {0};
		size_t len = 0;

		archive_entry_set_pathname(entry, "layer");
		archive_entry_set_filetype(entry, AE_IFREG);
		assert_int_equal(packings[i].add(archive), ARCHIVE_OK);
		assert_int_equal(archive_write_set_format_raw(archive), ARCHIVE_OK);
		assert_int_equal(archive_write_open_memory(archive, packed, sizeof(packed), &len),
				 ARCHIVE_OK);
		assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
		assert_int_equal(archive_write_data(archive, buf_bytes(&m.tar), m.tar.len),
				 m.tar.len);
		assert_int_equal(archive_write_free(archive), ARCHIVE_OK);
		archive_entry_free(entry);
		assert_ok(buf_append(&plain, buf_bytes(&m.tar), m.tar.len, &err));
		assert_ok(apply_bytes(&m, packed, len, &err));
		if (strcmp(m.diff_id, expected) != 0)
			fail_msg("%s: %s", packings[i].name, m.diff_id);
		buf_free(&m.tar);
		m.tar = (struct buf)BUF_INIT(0);
		assert_ok(buf_append(&m.tar, buf_bytes(&plain), plain.len, &err));
	}
	unmake(&m);
}

/* A few bytes can stand for gigabytes after the end, which nothing else bounds. */
static void what_is_behind_the_end_is_bounded(void **state)
{
	char expected[DIGEST_TEXT];
	struct error err = {0};
	struct making m;

	make(&m, state);
	put_archive(&m, 4 << 20, expected);
	limit_set(LIMIT_LAYER_TAIL_BYTES, 1 << 20);
	assert_int_equal(apply_cut(&m, m.tar.len, &err), -1);
	limit_set(LIMIT_LAYER_TAIL_BYTES, 64 << 20);
	assert_code(err, ERR_INVALID);
	assert_string_equal(
		err.msg,
		"this layer and the layers before it have more than 1048576 bytes after the ends of their archives, the most that microagent reads: make the image again");
	unmake(&m);
}

/* libarchive reads special headers until another one comes, and tells of none. */
static void special_headers_are_counted(void **state)
{
	struct making m;

	make(&m, state);
	put(&m, '5', "d", NULL);
	for (int i = 0; i < 3; i++)
		tar_put_comment(&m.tar, 'g', 1 << 20);
	put(&m, '5', "e", NULL);
	applies(&m); /* 3 MiB of 4 */
	for (int i = 0; i < 2; i++)
		tar_put_comment(&m.tar, 'x', 1 << 20);
	put(&m, '5', "f", NULL);
	refused(&m, "the archive unpacks, with its headers and the files that it replaces, to "
		    "more than 4 MiB");
	assert_null(rootfs_find(m.fs, "/f"));
	unmake(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		layer_test(layers_hide_what_is_below_them),
		layer_test(what_hides_nothing_is_refused),
		layer_test(no_path_leads_up),
		layer_test(links_stay_in_the_image),
		layer_test(links_in_a_circle_are_refused),
		layer_test(entries_replace_each_other),
		layer_test(devices_are_left_out),
		layer_test(attributes_are_those_that_ext4_has),
		layer_test(names_of_attributes_are_bytes),
		layer_test(a_layer_may_end_anywhere),
		layer_test(names_are_bytes),
		layer_test(a_layer_is_hashed_to_its_last_byte),
		layer_test(a_layer_is_hashed_as_it_is_unpacked),
		layer_test(what_is_behind_the_end_is_bounded),
		layer_test(special_headers_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
