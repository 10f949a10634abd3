/* SPDX-License-Identifier: MIT */
/* Tests that kernels which are built as guests of a PVM are recognised by the code with which they
 * call it. */
#include "test_base.h"

#include "artifact/pvm.h"

#define ROOM ((size_t)600 << 10)
#define PUBLIC "\x0f\x01\x3c\x25\x50\x56\x4d\xff\x0f\xa2"
#define PRIVATE "\xb9\x10\x4d\x56\x4b\x0f\x30"

/* Returns whether a file of so many bytes with the code at that place is recognised. */
static bool is_told(const struct scratch *s, const char *code, size_t len, size_t at, size_t size)
{
	char *bytes = test_calloc(1, ROOM);
	bool told = false;
	struct error err = {0};

	memcpy(bytes + at, code, len);
	assert_ok(path_replace_file_at(s->fd, "kernel", bytes, size, 0600, PATH_NO_SYNC, &err));
	assert_ok(pvm_find_code(scratch_path(s, "kernel"), &told, &err));
	test_free(bytes);
	return told;
}

/* Also if a block that is read ends within the code, and at both ends of the file. */
static void the_code_is_found_wherever_it_is(void **state)
{
	static const struct {
		const char *code;
		size_t len;
	} codes[] = {{PUBLIC, sizeof(PUBLIC) - 1}, {PRIVATE, sizeof(PRIVATE) - 1}};
	const struct scratch *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		size_t len = codes[i].len, block = (size_t)256 << 10;

		assert_true(is_told(s, codes[i].code, len, 0, len));
		assert_true(is_told(s, codes[i].code, len, ROOM - len, ROOM));
		for (size_t at = block - 32; at < block + 32; at++)
			assert_true(is_told(s, codes[i].code, len, at, ROOM));
		/* A part of the code is not recognised. */
		assert_false(is_told(s, codes[i].code, len, 100, 100 + len - 1));
		assert_false(is_told(s, codes[i].code + 1, len - 1, 100, ROOM));
	}
}

static void other_kernels_are_not_told(void **state)
{
	/* mov $0x4b564d01, %ecx; wrmsr: kvmclock, as every guest of KVM has it. */
	static const char clock[] = "\xb9\x01\x4d\x56\x4b\x0f\x30";
	/* invlpg 0xffffffffff4d5650; ret */
	static const char flush[] = "\x0f\x01\x3c\x25\x50\x56\x4d\xff\xc3";
	const struct scratch *s = *state;

	assert_false(is_told(s, clock, sizeof(clock) - 1, 4096, ROOM));
	assert_false(is_told(s, flush, sizeof(flush) - 1, 4096, ROOM));
	assert_false(is_told(s, "", 0, 0, 0));
}

static void what_cannot_be_read_is_an_error(void **state)
{
	const struct scratch *s = *state;
	bool told = true;
	struct error err = {0};

	assert_int_equal(pvm_find_code(scratch_path(s, "nothing"), &told, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	assert_true(told);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(the_code_is_found_wherever_it_is),
		WITH(other_kernels_are_not_told),
		WITH(what_cannot_be_read_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
