/* SPDX-License-Identifier: MIT */
/* Tests the bounds of an image: lengths of names and paths, sizes, and numbers of everything. */
#include "layer_fixture.h"

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
	refused(&m, "a name in the path is longer than 255 bytes");
	tar_pax(&m.tar, "path", "d/", 2);
	tar_pax(&m.tar, "path", name, 256);
	put(&m, '5', "short", NULL);
	refused(&m, "a name in the path is longer than 255 bytes");
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
	refused(&m, "the path is longer than 4000 bytes");
	assert_int_equal(rootfs_count(m.fs), 2000);
	/* It is given up again in one step. */
	unmake(&m);
}

/* By a link to a directory, a short path of the archive becomes a long path of the image. */
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
	refused(&m, "the path is longer than 4000 bytes");
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
	refused(&m, "the archive unpacks to more than 1 MiB");
	assert_int_equal(rootfs_find(m.fs, "x")->bytes, 500000);
	unmake(&m);
}

static void attributes_are_bounded_together(void **state)
{
	char value[4100] = {0};
	struct making m;

	make(&m, state);
	tar_pax(&m.tar, "SCHILY.xattr.user.big", value, sizeof(value));
	put(&m, '0', "f", NULL);
	refused(&m, "the archive has a file whose extended attributes have more than");
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

/* A name, a link and an attribute take memory, however well an archive packs them. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		layer_test(names_are_as_long_as_a_file_system_takes),
		layer_test(directories_are_as_deep_as_a_path_is_long),
		layer_test(links_make_no_path_longer),
		layer_test(absurd_sizes_are_refused),
		layer_test(holes_count_as_what_they_become),
		layer_test(attributes_are_bounded_together),
		layer_test(files_are_counted),
		layer_test(texts_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
