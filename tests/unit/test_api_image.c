/* SPDX-License-Identifier: MIT */
/* Tests names of workspaces and variables, and the checks of the first bytes of images and
 * kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/api.h"

#define SUPERBLOCK 1024

struct fields {
	uint32_t blocks_low, blocks_high, log_size, magic, incompat;
	off_t file_size;
};

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static int check(const struct fields *f, struct error *err)
{
	uint8_t block[4096] = {0};
	int fd = memfd_create("image", MFD_CLOEXEC);
	size_t len = f->file_size < (off_t)sizeof(block) ? (size_t)f->file_size : sizeof(block);
	int result;

	put32(block + SUPERBLOCK + 0x04, f->blocks_low);
	put32(block + SUPERBLOCK + 0x18, f->log_size);
	put32(block + SUPERBLOCK + 0x38, f->magic);
	put32(block + SUPERBLOCK + 0x60, f->incompat);
	put32(block + SUPERBLOCK + 0x150, f->blocks_high);
	assert_int_equal(write(fd, block, len), len);
	assert_int_equal(ftruncate(fd, f->file_size), 0);
	result = ext4_check(fd, "some.ext4", err);
	close(fd);
	return result;
}

#define GOOD                                                                             \
	{                                                                                \
		.blocks_low = 64, .log_size = 2, .magic = 0xef53, .file_size = 64 * 4096 \
	}

static void test_good_images(void **state)
{
	const struct fields cases[] = {
		GOOD,
		{.blocks_low = 64, .log_size = 2, .magic = 0xef53, .file_size = 65 * 4096},
		{.blocks_low = 64, .log_size = 0, .magic = 0xef53, .file_size = 64 * 1024},
		/* The upper half counts only with 64-bit block numbers. The magic has 16 bits. */
		{.blocks_low = 64,
		 .blocks_high = 9,
		 .log_size = 2,
		 .magic = 0x7777ef53,
		 .file_size = 64 * 4096},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = {0};

		assert_int_equal(check(&cases[i], &err), 0);
	}
}

static void test_truncated_images(void **state)
{
	const struct fields cases[] = {
		{.blocks_low = 64, .log_size = 2, .magic = 0xef53, .file_size = 64 * 4096 - 1},
		{.blocks_low = 64, .log_size = 6, .magic = 0xef53, .file_size = 64 * 4096},
		{.blocks_low = 64,
		 .blocks_high = 1,
		 .log_size = 2,
		 .magic = 0xef53,
		 .incompat = 0x80,
		 .file_size = 64 * 4096},
		{.blocks_low = UINT32_MAX,
		 .blocks_high = UINT32_MAX,
		 .log_size = 6,
		 .magic = 0xef53,
		 .incompat = 0x80,
		 .file_size = 64 * 4096},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = {0};

		assert_int_equal(check(&cases[i], &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.msg, "some.ext4 is cut short"));
	}
}

static void test_what_is_no_ext4(void **state)
{
	const struct fields cases[] = {
		{.file_size = 0},
		{.blocks_low = 64, .log_size = 2, .magic = 0xef53, .file_size = 2047},
		{.blocks_low = 64, .log_size = 2, .magic = 0xef52, .file_size = 64 * 4096},
		{.blocks_low = 64, .log_size = 7, .magic = 0xef53, .file_size = 64 * 4096},
		{.blocks_low = 64, .log_size = UINT32_MAX, .magic = 0xef53, .file_size = 64 * 4096},
		{.blocks_low = 0, .log_size = 2, .magic = 0xef53, .file_size = 64 * 4096},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = {0};

		assert_int_equal(check(&cases[i], &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.msg, "some.ext4 is not"));
	}
}

static void test_names(void **state)
{
	static const char *const good[] = {"a", "0", "w-1_2.x", "run-calm-otter-3fa9"};
	static const char *const bad[] = {
		"",	"-a",
		".",	"..",
		".a",	"a/b",
		"a b",	"a\n",
		"a\\b", "caf\xc3\xa9",
		"pool", "sessions",
		"logs", "0123456789012345678901234567890123456789012345678901234567890123"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(microagent_check_name(good[i], NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = {0};

		assert_int_equal(microagent_check_name(bad[i], &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
	}
}

static void test_made_up_names_are_allowed_and_differ(void **state)
{
	char one[NAME_ROOM], other[NAME_ROOM];

	(void)state;
	assert_int_equal(name_random(one, NULL), 0);
	assert_int_equal(microagent_check_name(one, NULL), 0);
	assert_int_equal(strncmp(one, "run-", 4), 0);
	/* 26 bits: the same number three times in a row means a broken generator. */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(name_random(other, NULL), 0);
		if (strcmp(one, other) != 0)
			return;
	}
	fail_msg("always %s", one);
}

static int check_kernel(size_t at, const char *magic, size_t magic_len, off_t size,
			struct error *err)
{
	uint8_t head[2048] = {0};
	int fd = memfd_create("kernel", MFD_CLOEXEC);
	char path[64];
	int result;

	memcpy(head + at, magic, magic_len);
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(ftruncate(fd, size), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	result = kernel_check(path, err);
	close(fd);
	return result;
}

static void test_kernels(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(check_kernel(0, "\177ELF", 4, 2048, &err), 0);
	assert_int_equal(check_kernel(0x202, "HdrS", 4, 2048, &err), 0);
	assert_int_equal(check_kernel(0x38, "ARM\x64", 4, 2048, &err), 0);
	/* elsewhere, cut off, empty */
	assert_int_equal(check_kernel(1, "\177ELF", 4, 2048, &err), -1);
	assert_int_equal(check_kernel(0x202, "HdrS", 4, 0x205, &err), -1);
	assert_int_equal(check_kernel(0, "\177ELF", 4, 0, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_non_null(strstr(err.msg, "is not a kernel"));
	assert_int_equal(kernel_check("/nonexistent/kernel", &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void test_variables(void **state)
{
	static const char *const good[] = {"A=", "A=b c", "a.b=1", "A==", "\xc3\xa4=1"};
	static const char *const bad[] = {"", "A", "=", "=b", "A B=1", " A=1", "A\t=1", "A\n=1"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(microagent_check_env(good[i], NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = {0};

		assert_int_equal(microagent_check_env(bad[i], &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_images),
		cmocka_unit_test(test_truncated_images),
		cmocka_unit_test(test_what_is_no_ext4),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_made_up_names_are_allowed_and_differ),
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_variables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
