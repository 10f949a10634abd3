/* SPDX-License-Identifier: MIT */
/* Tests which file may be a root in memory, and how ours is put behind it. */
#include "test_base.h"

#include <unistd.h>

#include "base/fd.h"
#include "supervisor/inputs/ram_root.h"

static int file_of(const char *bytes, size_t len, off_t size)
{
	struct error err = {0};
	int fd = fd_memfd("root", bytes, len, &err);

	assert_true(fd >= 0);
	if (size > 0)
		assert_int_equal(ftruncate(fd, size), 0);
	return fd;
}

static void archives_and_compressed_ones_pass(void **state)
{
	static const struct {
		const char *bytes;
		enum error_code code;
	} rows[] = {
		{"070701000", ERR_NONE},       {"070702000", ERR_NONE},
		{"\x1f\x8b\x08 ..", ERR_NONE}, {"\x28\xb5\x2f\xfd..", ERR_NONE},
		{"070707000", ERR_INVALID},    {"#!/bin/sh", ERR_INVALID},
		{"0707", ERR_INVALID},	       {"", ERR_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = {0};
		int fd = file_of(rows[i].bytes, strlen(rows[i].bytes), 0);

		assert_int_equal(ram_root_check(fd, 512, &err), rows[i].code ? -1 : 0);
		assert_int_equal(err.code, rows[i].code);
		close(fd);
	}
}

static void it_must_fit_twice(void **state)
{
	struct error err = {0};
	int fd = file_of("070701", 6, (100 << 20) - 5);

	(void)state;
	assert_ok(ram_root_check(fd, 264, &err));
	assert_int_equal(ram_root_check(fd, 263, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_non_null(strstr(err.msg, "100 MiB"));
	assert_non_null(strstr(err.msg, "264"));
	close(fd);
}

static void ours_begins_at_a_whole_segment(void **state)
{
	struct error err = {0};
	int root = file_of("0123456789", 10, 0), ours = file_of("ours", 4, 0);
	char bytes[520] = "";
	int joined = ram_root_join(root, ours, &err);

	(void)state;
	assert_true(joined >= 0);
	assert_int_equal(pread(joined, bytes, sizeof(bytes), 0), 516);
	assert_memory_equal(bytes, "0123456789\0\0", 12);
	assert_memory_equal(bytes + 512, "ours", 4);
	close(root);
	close(ours);
	close(joined);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(archives_and_compressed_ones_pass),
		cmocka_unit_test(it_must_fit_twice),
		cmocka_unit_test(ours_begins_at_a_whole_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
