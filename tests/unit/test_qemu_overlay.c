/* SPDX-License-Identifier: MIT */
/* The empty layer over a disk, as the format has it. */
#include "test_base.h"

#include <sys/stat.h>

#include "backend/qemu/overlay.h"
#include "base/frame.h"

static void layers(void **state)
{
	static const uint64_t sizes[] = {1, 1 << 20, UINT64_C(60) << 30, UINT64_C(16) << 40};
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		autoclose int fd = overlay_new(sizes[i], &err);
		uint8_t head[104], count[2];
		uint64_t l1_end;
		struct stat st;

		assert_true(fd >= 0);
		assert_int_equal(pread(fd, head, sizeof(head), 0), (ssize_t)sizeof(head));
		assert_memory_equal(head, "QFI\xfb\0\0\0\3", 8);
		assert_int_equal(be64_get(head + 8), 0); /* names no file below it */
		assert_true(be64_get(head + 24) >= sizes[i] && be64_get(head + 24) % 512 == 0);
		/* The first level reaches as far as the disk, and the file as far as its tables. */
		assert_true((uint64_t)be32_get(head + 36) << 29 >= sizes[i]);
		l1_end = be64_get(head + 40) + 8 * (uint64_t)be32_get(head + 36);
		assert_int_equal(fstat(fd, &st), 0);
		assert_true((uint64_t)st.st_size >= l1_end);
		assert_int_equal(pread(fd, count, 2, (2 << 16) + 2 * ((l1_end - 1) >> 16)), 2);
		assert_memory_equal(count, "\0\1", 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(layers)};

	return cmocka_run_group_tests_name("overlays", tests, NULL, NULL);
}
