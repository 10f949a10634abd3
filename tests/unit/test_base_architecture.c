/* SPDX-License-Identifier: MIT */
/* Tests that the first bytes of a kernel tell its architecture. */
#include "test_base.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/personality.h>

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
	assert_true(architecture_is_bzimage(head, 0x206));
	assert_false(architecture_is_bzimage(head, 0x205));
	clear_head(NULL);
	memcpy(head + 0x38, "ARM\x64", 4);
	assert_is(ARCHITECTURE_ARM64);
	assert_false(architecture_is_bzimage(head, sizeof(head)));
}

static void a_host_of_neither_is_named(void **state)
{
	int before = personality(0xffffffff);
	struct error err = {0};

	(void)state;
	assert_ok(architecture_check_host(&err));
	if (personality(PER_LINUX32) < 0) {
		print_message("skipped: this kernel knows no programs of 32 bits\n");
		skip();
	}
	assert_int_equal(architecture_of_host(), ARCHITECTURE_COUNT);
	assert_int_equal(architecture_check_host(&err), -1);
	(void)personality((unsigned long)before);
	assert_code(err, ERR_UNSUPPORTED);
	assert_non_null(strstr(err.msg, "architecture is "));
	assert_null(strstr(err.msg, "is x86_64,"));
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

static void people_s_words_are_known(void **state)
{
	static const struct {
		const char *word;
		enum architecture is;
	} words[] = {
		{"amd64", ARCHITECTURE_AMD64},	 {"x86_64", ARCHITECTURE_AMD64},
		{"x86-64", ARCHITECTURE_AMD64},	 {"arm64", ARCHITECTURE_ARM64},
		{"aarch64", ARCHITECTURE_ARM64}, {"mips", ARCHITECTURE_COUNT},
		{"", ARCHITECTURE_COUNT},	 {"ARM64", ARCHITECTURE_COUNT},
		{"arm", ARCHITECTURE_COUNT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_int_equal(architecture_from_word(words[i].word), words[i].is);
	assert_int_equal(architecture_from_name("arm64"), ARCHITECTURE_ARM64);
	assert_int_equal(architecture_from_name("aarch64"), ARCHITECTURE_COUNT);
}

static void a_kernel_is_for_its_machine_alone(void **state)
{
	autoclose int fd = memfd_create("kernel", MFD_CLOEXEC);
	struct error err = {0};

	(void)state;
	assert_int_equal(pwrite(fd, "ARM\x64", 4, 0x38), 4);
	assert_ok(architecture_check_kernel(fd, ARCHITECTURE_ARM64, &err));
	assert_int_equal(architecture_check_kernel(fd, ARCHITECTURE_AMD64, &err), -1);
	assert_code(err, ERR_UNSUPPORTED);
	assert_string_equal(
		err.msg,
		"the file is a kernel for arm64, but the machine is amd64: choose another kernel, or another architecture");
}

static void what_is_surely_no_kernel_is_refused(void **state)
{
	static const struct {
		const char *head;
		size_t len;
		bool may_be_arm64;
	} files[] = {
		{"", 0, false},		 {"root:x:0:0:root:/root:/bin/bash\n", 32, false},
		{"MZ\0\0zim", 7, false}, {"MZ\0\0PE\0\0", 8, false},
		{"MZ\0\0zimg", 8, true}, {"\x1f\x8b\x08\0\0\0\0\0", 8, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		autoclose int fd = memfd_create("file", MFD_CLOEXEC);
		struct error err = {0};

		assert_int_equal(pwrite(fd, files[i].head, files[i].len, 0), (int)files[i].len);
		assert_int_equal(architecture_check_kernel(fd, ARCHITECTURE_AMD64, &err), -1);
		assert_code(err, ERR_INVALID);
		assert_int_equal(err.reason, REASON_NOT_A_KERNEL);
		assert_int_equal(architecture_check_kernel(fd, ARCHITECTURE_ARM64, &err),
				 files[i].may_be_arm64 ? 0 : -1);
	}
}

/* A 32-bit image of a PVH kernel is one for a VMM to judge. */
static void a_kernel_of_a_third_architecture_passes(void **state)
{
	autoclose int fd = memfd_create("kernel", MFD_CLOEXEC);
	struct error err = {0};

	(void)state;
	assert_int_equal(pwrite(fd, "\177ELF\1\1\1", 7, 0), 7);
	assert_int_equal(ftruncate(fd, sizeof(Elf64_Ehdr)), 0);
	assert_ok(architecture_check_kernel(fd, ARCHITECTURE_AMD64, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_image_tells_by_its_magic, clear_head),
		cmocka_unit_test(a_host_of_neither_is_named),
		cmocka_unit_test_setup(an_elf_image_tells_by_its_machine, clear_head),
		cmocka_unit_test_setup(nothing_else_is_a_kernel, clear_head),
		cmocka_unit_test(names_are_the_protocol_s),
		cmocka_unit_test(people_s_words_are_known),
		cmocka_unit_test(a_kernel_is_for_its_machine_alone),
		cmocka_unit_test(what_is_surely_no_kernel_is_refused),
		cmocka_unit_test(a_kernel_of_a_third_architecture_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
