/* SPDX-License-Identifier: MIT */
/* What the first bytes of a kernel say it is for. */
#include "test_base.h"

#include <elf.h>

#include "base/architecture.h"

static unsigned char head[KERNEL_HEAD];

static int clear_head(void **state)
{
	(void)state;
	memset(head, 0, sizeof(head));
	return 0;
}

static void assert_is(enum architecture wanted)
{
	enum architecture found = ARCHITECTURE_COUNT;

	assert_true(architecture_of_kernel(head, sizeof(head), &found));
	assert_int_equal(found, wanted);
}

static void an_image_tells_by_its_magic(void **state)
{
	(void)state;
	memcpy(head + 0x202, "HdrS", 4);
	assert_is(ARCHITECTURE_AMD64);
	clear_head(NULL);
	memcpy(head + 0x38, "ARM\x64", 4);
	assert_is(ARCHITECTURE_ARM64);
}

static void an_elf_image_tells_by_its_machine(void **state)
{
	static const struct {
		Elf64_Half machine;
		unsigned char class, order;
		enum architecture is;
	} rows[] = {
		{EM_X86_64, ELFCLASS64, ELFDATA2LSB, ARCHITECTURE_AMD64},
		{EM_AARCH64, ELFCLASS64, ELFDATA2LSB, ARCHITECTURE_ARM64},
		{EM_AARCH64, ELFCLASS64, ELFDATA2MSB, ARCHITECTURE_COUNT},
		{EM_X86_64, ELFCLASS32, ELFDATA2LSB, ARCHITECTURE_COUNT},
		{EM_RISCV, ELFCLASS64, ELFDATA2LSB, ARCHITECTURE_COUNT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Elf64_Ehdr elf = {.e_machine = rows[i].machine};

		memcpy(elf.e_ident, ELFMAG, SELFMAG);
		elf.e_ident[EI_CLASS] = rows[i].class;
		elf.e_ident[EI_DATA] = rows[i].order;
		memcpy(head, &elf, sizeof(elf));
		assert_is(rows[i].is);
	}
}

static void nothing_else_is_a_kernel(void **state)
{
	enum architecture found = ARCHITECTURE_ARM64;

	(void)state;
	assert_false(architecture_of_kernel(head, sizeof(head), &found));
	memcpy(head + 0x202, "HdrS", 4);
	/* Behind the end of what was read. */
	assert_false(architecture_of_kernel(head, 0x205, &found));
	memcpy(head, ELFMAG, SELFMAG);
	assert_false(architecture_of_kernel(head, sizeof(Elf64_Ehdr) - 1, &found));
	assert_false(architecture_of_kernel(head, 0, &found));
	assert_int_equal(found, ARCHITECTURE_ARM64);
}

static void names_are_the_protocol_s(void **state)
{
	(void)state;
	assert_string_equal(architecture_name(ARCHITECTURE_AMD64), "amd64");
	assert_string_equal(architecture_name(ARCHITECTURE_ARM64), "arm64");
	assert_string_equal(architecture_name(ARCHITECTURE_COUNT), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_image_tells_by_its_magic, clear_head),
		cmocka_unit_test_setup(an_elf_image_tells_by_its_machine, clear_head),
		cmocka_unit_test_setup(nothing_else_is_a_kernel, clear_head),
		cmocka_unit_test(names_are_the_protocol_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
