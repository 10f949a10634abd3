/* SPDX-License-Identifier: MIT */
/* Tests the empty layer over a disk, by its format. */
#include "test_base.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/frame.h"
#include "store/layer.h"

static void layers(void **state)
{
	static const uint64_t sizes[] = {1, 1 << 20, UINT64_C(60) << 30, UINT64_C(16) << 40};
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		autoclose int fd = memfd_create("layer", MFD_CLOEXEC);
		uint8_t head[104], count[2];
		uint64_t l1_end;
		struct stat st;

		assert_int_equal(layer_write(fd, sizes[i], &err), 0);
		assert_int_equal(layer_check(fd, sizes[i], &err), 0);
		assert_int_equal(pread(fd, head, sizeof(head), 0), (ssize_t)sizeof(head));
		assert_memory_equal(head, "QFI\xfb\0\0\0\3", 8);
		assert_int_equal(be64_get(head + 8), 0); /* names no file below it */
		assert_true(be64_get(head + 24) >= sizes[i] && be64_get(head + 24) % 512 == 0);
		/* The first level is as long as the disk needs, and the file as long as its
		 * tables. */
		assert_true((uint64_t)be32_get(head + 36) << 29 >= sizes[i]);
		l1_end = be64_get(head + 40) + 8 * (uint64_t)be32_get(head + 36);
		assert_int_equal(fstat(fd, &st), 0);
		assert_true((uint64_t)st.st_size >= l1_end);
		assert_int_equal(pread(fd, count, 2, (2 << 16) + 2 * ((l1_end - 1) >> 16)), 2);
		assert_memory_equal(count, "\0\1", 2);
	}
}

/* From the tables of an empty layer to the end of the written data, whatever the file's length
 * is. */
static void the_end_is_that_of_the_data(void **state)
{
	static const uint64_t size = UINT64_C(1) << 30;
	static const struct {
		off_t at;
		uint64_t end;
	} rows[] = {{5 << 16, 6 << 16}, {(9 << 16) - 1, 9 << 16}, {(40 << 16) + 1, 41 << 16}};
	autoclose int fd = memfd_create("layer", MFD_CLOEXEC);
	struct error err = {0};
	uint64_t end = 0;
	struct stat st;

	(void)state;
	assert_int_equal(layer_end(fd, &end, &err), 0);
	assert_int_equal(end, 0);
	assert_int_equal(layer_write(fd, size, &err), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, layer_least(size));
	assert_true(layer_most(size) > size + layer_least(size));
	assert_int_equal(ftruncate(fd, (off_t)layer_most(size)), 0);
	assert_int_equal(layer_end(fd, &end, &err), 0);
	assert_true(end <= layer_least(size));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(pwrite(fd, "x", 1, rows[i].at), 1);
		assert_int_equal(layer_end(fd, &end, &err), 0);
		assert_int_equal(end, rows[i].end);
	}
	assert_int_equal(layer_end(-1, &end, &err), -1);
}

/* A file that is no layer of ours, byte by byte of its header. */
static void foreign_files_are_refused(void **state)
{
	static const struct {
		off_t at;
		uint8_t byte;
		const char *words;
	} changes[] = {
		{0, 'X', "not a qcow2 layer"},
		{7, 2, "not a qcow2 layer"},
		{23, 12, "not a qcow2 layer"},
		{15, 104, "a backing file"},
		{19, 9, "a backing file"},
		{35, 1, "a backing file"},
		{63, 1, "a backing file"},
		{79, 4, "a backing file"}, /* an external data file */
		{79, 8, "a backing file"},
		{30, 1, "the base has 1048576"},
	};
	autoclose int fd = memfd_create("layer", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(layer_check(fd, 1 << 20, NULL), -1); /* empty */
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct error err = {0};

		assert_int_equal(layer_write(fd, 1 << 20, &err), 0);
		assert_int_equal(pwrite(fd, &changes[i].byte, 1, changes[i].at), 1);
		assert_int_equal(layer_check(fd, 1 << 20, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.msg, changes[i].words));
	}
	assert_int_equal(layer_write(fd, 1 << 20, NULL), 0);
	assert_int_equal(pwrite(fd, "\1", 1, 79),
			 1); /* a VMM writes to it, or was killed doing so */
	assert_int_equal(layer_check(fd, 1 << 20, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(layers),
					   cmocka_unit_test(the_end_is_that_of_the_data),
					   cmocka_unit_test(foreign_files_are_refused)};

	return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
