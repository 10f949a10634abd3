/* SPDX-License-Identifier: MIT */
/* Tests digests of sparse files: holes are not read, and count as zeros. */
#include "test_base.h"

#include <unistd.h>

#include "artifact/digest.h"
#include "base/fd.h"

#define ROOM ((size_t)6 << 20)

struct span {
	off_t at;
	size_t len;
};

/* Makes a file of size bytes with data in the spans and nothing else, and the same in memory. */
static int sparse(const struct span *spans, size_t count, size_t size, uint8_t *same)
{
	struct error err = {0};
	int fd = fd_memfd("sparse", "", 0, &err);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	memset(same, 0, size);
	for (size_t i = 0; i < count; i++) {
		memset(same + spans[i].at, 'a' + (int)i, spans[i].len);
		assert_int_equal(pwrite(fd, same + spans[i].at, spans[i].len, spans[i].at),
				 (ssize_t)spans[i].len);
	}
	return fd;
}

static void compare(const struct span *spans, size_t count, size_t size)
{
	uint8_t *same = test_malloc(ROOM);
	autoclose int fd = sparse(spans, count, size, same);
	char of_file[DIGEST_TEXT], of_bytes[DIGEST_TEXT];
	struct error err = {0};

	assert_int_equal(digest_fd(fd, of_file, &err), 0);
	assert_int_equal(digest_bytes(same, size, of_bytes, &err), 0);
	assert_string_equal(of_file, of_bytes);
	/* A part that begins and ends within holes or data. There is nothing after the end. */
	assert_int_equal(digest_range(fd, size / 3, size / 2, of_file, &err), 0);
	assert_int_equal(digest_bytes(same + size / 3, size / 2, of_bytes, &err), 0);
	assert_string_equal(of_file, of_bytes);
	assert_int_equal(digest_range(fd, size / 2, size, of_file, &err), 0);
	assert_int_equal(digest_bytes(same + size / 2, size - size / 2, of_bytes, &err), 0);
	assert_string_equal(of_file, of_bytes);
	test_free(same);
}

static void holes_are_zeros(void **state)
{
	static const struct span whole[] = {{0, 5000}};
	static const struct span front[] = {{0, 1}};
	static const struct span back[] = {{(4 << 20) + 12, 7}};
	static const struct span several[] = {{4096, 10000}, {2 << 20, 1 << 20}, {5 << 20, 3}};

	(void)state;
	compare(NULL, 0, 0);
	compare(NULL, 0, 3 << 20);
	compare(whole, 1, 5000);
	compare(front, 1, (2 << 20) + 1);
	compare(back, 1, (4 << 20) + 19);
	compare(several, 3, 6 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(holes_are_zeros)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
