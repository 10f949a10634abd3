/* SPDX-License-Identifier: MIT */
/* Layers of an image, hostile ones too: what they come to over each other, and why they are
 * refused. */
#include "test_base.h"

#include <sys/stat.h>

#include "artifact/layer.h"
#include "tar_entries.h"

static const struct rootfs_bounds ample = {.bytes = 1 << 20, .count = 5000, .text = 8 << 20};

/* An image in the making, in a scratch directory. */
struct making {
	struct scratch *scratch;
	struct rootfs *fs;
	struct buf tar; /* of the layer that is being written */
	int data;
};

static void make_bounded(struct making *m, void **state, const struct rootfs_bounds *bounds)
{
	struct error err = {0};

	*m = (struct making){.scratch = *state, .tar = BUF_INIT(0)};
	assert_int_equal(mkdirat(m->scratch->fd, "data", 0700), 0);
	m->data = openat(m->scratch->fd, "data", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	m->fs = rootfs_new(m->data, 1, bounds, &err);
	assert_non_null(m->fs);
}

static void make(struct making *m, void **state)
{
	make_bounded(m, state, &ample);
}

static void unmake(struct making *m)
{
	rootfs_free(m->fs);
	buf_free(&m->tar);
	close(m->data);
}

static void put(struct making *m, char type, const char *name, const char *more)
{
	struct tar_entry entry = {.type = type, .name = name, .mode = 0644};

	if (type == '0') {
		entry.data = more ? more : "";
		entry.len = strlen(entry.data);
		entry.size = entry.len;
	} else {
		entry.link = more;
	}
	tar_put(&m->tar, &entry);
}

/* The archive as far as it is written. */
static int apply_cut(struct making *m, size_t len, struct error *err)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/layer", m->scratch->path);
	assert_int_equal(path_replace_file_at(m->scratch->fd, "layer", buf_bytes(&m->tar), len,
					      0600, PATH_NO_SYNC, err),
			 0);
	return layer_apply(m->fs, path, 0, len, err);
}

static int apply(struct making *m, struct error *err)
{
	int result;

	tar_end(&m->tar);
	result = apply_cut(m, m->tar.len, err);
	buf_free(&m->tar);
	m->tar = (struct buf)BUF_INIT(0);
	return result;
}

static void applies(struct making *m)
{
	struct error err = {0};

	if (apply(m, &err) < 0)
		fail_msg("%s", err.msg);
}

static void refused(struct making *m, const char *said)
{
	struct error err = {0};

	assert_int_equal(apply(m, &err), -1);
	assert_code(err, ERR_INVALID);
	if (!strstr(err.msg, said))
		fail_msg("\"%s\" is not in \"%s\"", said, err.msg);
}

/* A layer of this one entry is refused. */
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
	refuses(state, '0', ".wh.", NULL, "hides nothing");
	refuses(state, '0', "d/.wh..", NULL, "hides nothing");
	refuses(state, '0', "d/.wh...", NULL, "hides nothing");
	refuses(state, '0', ".wh.f", "x", "has contents");
}

static void no_path_leads_up(void **state)
{
	refuses(state, '0', "../f", "x", "\"..\"");
	refuses(state, '0', "a/../f", "x", "\"..\"");
	refuses(state, '5', "a/..", NULL, "\"..\"");
	refuses(state, '0', "../.wh.f", NULL, "\"..\"");
	refuses(state, '1', "h", "../f", "\"..\"");
	refuses(state, '1', "h", "/etc/passwd", "which is not there");
	refuses(state, '1', "h", "/", "which is not there");
	refuses(state, '2', "l", "", "a link to nothing");
}

/* They are resolved in the image, above whose root there is nothing. */
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

/* The last one counts, and the space of what it replaced is free again. */
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

static void names_are_as_long_as_a_file_system_takes(void **state)
{
	char name[300];
	struct making m;

	make(&m, state);
	memset(name, 'n', sizeof(name));
	tar_pax(&m.tar, "path", name, 255);
	put(&m, '0', "short", "x");
	applies(&m);
	tar_pax(&m.tar, "path", name, 256);
	put(&m, '0', "short", "x");
	refused(&m, "a name of more than 255 bytes");
	tar_pax(&m.tar, "path", "d/", 2);
	tar_pax(&m.tar, "path", name, 256);
	put(&m, '5', "short", NULL);
	refused(&m, "a name of more than 255 bytes");
	assert_int_equal(rootfs_count(m.fs), 1);
	unmake(&m);
}

static void directories_are_as_deep_as_a_path_is_long(void **state)
{
	char path[4200];
	struct making m;
	size_t i;

	for (i = 0; i + 2 < sizeof(path); i += 2)
		memcpy(path + i, "d/", 2);
	make(&m, state);
	tar_pax(&m.tar, "path", path, 3998);
	put(&m, '5', "short", NULL);
	applies(&m);
	tar_pax(&m.tar, "path", path, 4002);
	put(&m, '5', "short", NULL);
	refused(&m, "a path of more than 4000 bytes");
	assert_int_equal(rootfs_count(m.fs), 2000);
	/* Given up again in one go. */
	unmake(&m);
}

/* By a link to a directory, a short path of the archive becomes a long one of the image. */
static void links_make_no_path_longer(void **state)
{
	char path[3000];
	struct making m;

	for (size_t i = 0; i + 1 < sizeof(path); i += 2)
		memcpy(path + i, "d/", 2);
	make(&m, state);
	tar_pax(&m.tar, "linkpath", path, 2998);
	put(&m, '2', "l", "its pax header has it");
	put(&m, '5', "l/x", NULL);
	applies(&m);
	tar_pax(&m.tar, "path", "l/", 2);
	memcpy(path, "l/", 2);
	tar_pax(&m.tar, "path", path, 2000);
	put(&m, '5', "short", NULL);
	refused(&m, "a path of more than 4000 bytes");
	unmake(&m);
}

static void refuses_size(void **state, const char *pax_size, uint64_t size)
{
	struct error err = {0};
	struct making m;

	make(&m, state);
	if (pax_size)
		tar_pax(&m.tar, "size", pax_size, strlen(pax_size));
	tar_put(&m.tar,
		&(struct tar_entry){.type = '0', .name = "f", .data = "x", .len = 1, .size = size});
	assert_int_equal(apply(&m, &err), -1);
	assert_true(*err.msg);
	assert_int_equal(rootfs_bytes(m.fs), 0);
	unmake(&m);
	assert_int_equal(path_remove_tree_at(m.scratch->fd, "data", NULL), 0);
}

static void absurd_sizes_are_refused(void **state)
{
	refuses_size(state, NULL, (1 << 20) + 1);
	refuses_size(state, NULL, UINT64_MAX);
	refuses_size(state, NULL, INT64_MAX);
	refuses_size(state, "-1", 1);
	refuses_size(state, "9223372036854775807", 1);
	refuses_size(state, "99999999999999999999999999", 1);
}

static void holes_count_as_what_they_become(void **state)
{
	static const char map[513] = "1\n400000\n4\n";
	struct making m;

	make(&m, state);
	tar_pax(&m.tar, "GNU.sparse.major", "1", 1);
	tar_pax(&m.tar, "GNU.sparse.minor", "0", 1);
	tar_pax(&m.tar, "GNU.sparse.realsize", "500000", 6);
	tar_put(&m.tar, &(struct tar_entry){
				.type = '0', .name = "x", .data = map, .len = 513, .size = 516});
	applies(&m);
	assert_int_equal(rootfs_bytes(m.fs), 503808);
	tar_pax(&m.tar, "GNU.sparse.major", "1", 1);
	tar_pax(&m.tar, "GNU.sparse.minor", "0", 1);
	tar_pax(&m.tar, "GNU.sparse.realsize", "50000000000", 11);
	tar_put(&m.tar, &(struct tar_entry){
				.type = '0', .name = "y", .data = map, .len = 513, .size = 516});
	refused(&m, "it unpacks to more than 1 MiB");
	assert_int_equal(rootfs_find(m.fs, "x")->bytes, 500000);
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
	refused(&m, "more than 255 bytes");
	assert_int_equal(rootfs_count(m.fs), 4);
	assert_int_equal(rootfs_find(m.fs, "f")->xattr_count, 1);
	assert_int_equal(rootfs_find(m.fs, "g")->xattr_count, 0);
	assert_int_equal(rootfs_find(m.fs, "h")->xattr_count, 0);
	assert_int_equal(rootfs_find(m.fs, "i")->xattr_count, 0);
	unmake(&m);
}

/* But for an "=", at which a pax header has its end. */
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

static void attributes_are_bounded_together(void **state)
{
	char value[4100] = {0};
	struct making m;

	make(&m, state);
	tar_pax(&m.tar, "SCHILY.xattr.user.big", value, sizeof(value));
	put(&m, '0', "f", NULL);
	refused(&m, "bytes of extended attributes");
	unmake(&m);
}

static void files_are_counted(void **state)
{
	const struct rootfs_bounds few = {.bytes = 1 << 20, .count = 3, .text = 1000};
	struct making m;

	make_bounded(&m, state, &few);
	put(&m, '0', "a/b", "x");
	put(&m, '1', "c", "a/b");
	applies(&m);
	put(&m, '1', "d", "c");
	refused(&m, "more than 3 files");
	put(&m, '0', ".wh.a", NULL);
	put(&m, '1', "d", "c");
	applies(&m);
	assert_int_equal(rootfs_count(m.fs), 2);
	unmake(&m);
}

/* What a name, a link and an attribute take is memory, however well an archive packs them. */
static void texts_are_counted(void **state)
{
	const struct rootfs_bounds few = {.bytes = 1 << 20, .count = 5000, .text = 1000};
	char text[900];
	struct making m;

	memset(text, 't', sizeof(text));
	make_bounded(&m, state, &few);
	tar_pax(&m.tar, "linkpath", text, sizeof(text));
	put(&m, '2', "l", "its pax header has it");
	applies(&m);
	tar_pax(&m.tar, "SCHILY.xattr.user.note", text, 100);
	put(&m, '0', "f", NULL);
	refused(&m, "more than 1000 bytes together");
	tar_pax(&m.tar, "path", text, 200);
	put(&m, '0', "f", NULL);
	refused(&m, "more than 1000 bytes together");
	put(&m, '0', "l", NULL); /* the link is gone, and its bytes */
	tar_pax(&m.tar, "path", text, 200);
	put(&m, '0', "f", NULL);
	applies(&m);
	unmake(&m);
}

/* At whatever byte it ends: an error, or what was whole until there. */
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

/* Bytes that are no UTF-8, and all that a shell or a terminal would see something in. */
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

#define layer_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

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
		layer_test(names_are_as_long_as_a_file_system_takes),
		layer_test(directories_are_as_deep_as_a_path_is_long),
		layer_test(links_make_no_path_longer),
		layer_test(absurd_sizes_are_refused),
		layer_test(holes_count_as_what_they_become),
		layer_test(attributes_are_those_that_ext4_has),
		layer_test(names_of_attributes_are_bytes),
		layer_test(attributes_are_bounded_together),
		layer_test(files_are_counted),
		layer_test(texts_are_counted),
		layer_test(a_layer_may_end_anywhere),
		layer_test(names_are_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
