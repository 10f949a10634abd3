/* SPDX-License-Identifier: MIT */
/* Tests initramfs segments, which libarchive reads back for a comparison byte by byte. */
#include "test_base.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <sys/stat.h>

#include "artifact/cpio.h"
#include "artifact/cpio_find.h"
#include "artifact/digest.h"
#include "artifact/elf.h"
#include "artifact/initrd.h"

/* Makes an ELF program with one segment of that type. */
static void put_program(const struct scratch *s, const char *name, uint32_t type)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segment;
	} program = {.head = {.e_phoff = sizeof(Elf64_Ehdr),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 1},
		     .segment = {.p_type = type}};
	struct error err = {0};

	memcpy(program.head.e_ident, ELFMAG, SELFMAG);
	program.head.e_ident[EI_CLASS] = ELFCLASS64;
	program.head.e_ident[EI_DATA] = ELFDATA2LSB;
	program.head.e_machine =
		architecture_of_host() == ARCHITECTURE_ARM64 ? EM_AARCH64 : EM_X86_64;
	assert_int_equal(path_replace_file_at(s->fd, name, &program, sizeof(program), 0600,
					      PATH_NO_SYNC, &err),
			 0);
}

static void write_initrd(const struct scratch *s, const char *name, const char *modules)
{
	struct error err = {0};
	autoclose int fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	if (initrd_write(fd, scratch_path(s, "init"), architecture_of_host(), modules, &err) < 0)
		fail_msg("%s", err.msg);
}

static void assert_names(const char *path, const char *const *expected)
{
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;

	archive_read_support_format_cpio(archive);
	assert_int_equal(archive_read_open_filename(archive, path, 4096), ARCHIVE_OK);
	for (; *expected; expected++) {
		assert_int_equal(archive_read_next_header(archive, &entry), ARCHIVE_OK);
		assert_string_equal(archive_entry_pathname(entry), *expected);
		assert_int_equal(archive_entry_uid(entry), 0);
		assert_int_equal(archive_entry_gid(entry), 0);
		assert_int_equal(archive_entry_mtime(entry), 0);
	}
	assert_int_equal(archive_read_next_header(archive, &entry), ARCHIVE_EOF);
	archive_read_free(archive);
}

static void holds_init_and_what_it_mounts_on(void **state)
{
	const struct scratch *s = *state;

	put_program(s, "init", PT_LOAD);
	write_initrd(s, "a", NULL);
	assert_names(scratch_path(s, "a"),
		     (const char *const[]){"dev", "init", "init", "mnt", "proc", "root", "run",
					   "sys", "tmp", NULL});
}

static void is_the_same_bytes_each_time(void **state)
{
	const struct scratch *s = *state;
	char a[DIGEST_TEXT], b[DIGEST_TEXT];
	struct error err = {0};
	struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};

	put_program(s, "init", PT_LOAD);
	write_initrd(s, "a", NULL);
	assert_int_equal(utimensat(s->fd, "init", times, 0), 0);
	assert_int_equal(fchmodat(s->fd, "init", 0755, 0), 0);
	write_initrd(s, "b", NULL);
	assert_int_equal(digest_file(scratch_path(s, "a"), a, &err), 0);
	assert_int_equal(digest_file(scratch_path(s, "b"), b, &err), 0);
	assert_string_equal(a, b);
}

static void modules_come_first_and_aligned(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};
	struct cpio *cpio;
	struct stat st;
	char head[6];

	put_program(s, "init", PT_LOAD);
	{
		autoclose int fd = openat(s->fd, "modules", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		cpio = cpio_open(fd, &err);
		assert_non_null(cpio);
		assert_int_equal(cpio_bytes(cpio, "modules.list", 0644, "x", 1, &err), 0);
		assert_int_equal(cpio_close(cpio, &err), 0);
	}
	assert_names(scratch_path(s, "modules"), (const char *const[]){"modules.list", NULL});
	assert_int_equal(fstatat(s->fd, "modules", &st, 0), 0);
	assert_int_equal(st.st_size % 4, 0);
	write_initrd(s, "both", scratch_path(s, "modules"));
	autoclose int both = openat(s->fd, "both", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(both, head, 6, st.st_size), 6);
	assert_memory_equal(head, "070701", 6);
}

static void a_dynamic_init_is_refused(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};

	put_program(s, "init", PT_INTERP);
	autoclose int fd = openat(s->fd, "out", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(
		initrd_write(fd, scratch_path(s, "init"), architecture_of_host(), NULL, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_non_null(strstr(err.msg, "not a static program"));
}

static void a_program_of_another_architecture_is_refused(void **state)
{
	const struct scratch *s = *state;
	enum architecture other = architecture_of_host() == ARCHITECTURE_ARM64 ? ARCHITECTURE_AMD64
									       : ARCHITECTURE_ARM64;
	struct error err = {0};

	put_program(s, "init", PT_LOAD);
	assert_int_equal(elf_require_static(scratch_path(s, "init"), other, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_non_null(strstr(err.msg, "is not a program for "));
	assert_non_null(strstr(err.msg, architecture_name(other)));
}

static void what_is_no_program_is_refused(void **state)
{
	static const char *const texts[] = {"", "#!/bin/sh\n", "\177ELF"};
	const struct scratch *s = *state;
	struct error err = {0};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(path_replace_file_at(s->fd, "init", texts[i], strlen(texts[i]),
						      0600, PATH_NO_SYNC, &err),
				 0);
		assert_int_equal(
			elf_require_static(scratch_path(s, "init"), architecture_of_host(), &err),
			-1);
		assert_int_equal(err.code, ERR_INVALID);
	}
	assert_int_equal(
		elf_require_static(scratch_path(s, "absent"), architecture_of_host(), &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	/* More segments than the file has bytes. */
	put_program(s, "init", PT_LOAD);
	assert_int_equal(truncate(scratch_path(s, "init"), sizeof(Elf64_Ehdr) + 3), 0);
	assert_int_equal(elf_require_static(scratch_path(s, "init"), architecture_of_host(), &err),
			 -1);
	assert_non_null(strstr(err.msg, "it is shorter than its headers say"));
}

static void digests_are_sha256(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};
	char digest[DIGEST_TEXT];
	int ends[2];

	assert_int_equal(digest_bytes("abc", 3, digest, &err), 0);
	assert_string_equal(digest,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(path_replace_file_at(s->fd, "f", "abc", 3, 0600, PATH_NO_SYNC, &err), 0);
	autoclose int fd = openat(s->fd, "f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
	assert_int_equal(digest_fd(fd, digest, &err), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 2);
	assert_string_equal(digest,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(pipe(ends), 0);
	close(ends[1]);
	assert_int_equal(digest_fd(ends[0], digest, &err), 0);
	assert_string_equal(digest,
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	close(ends[0]);
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

static void init_is_found_behind_modules(void **state)
{
	const struct scratch *s = *state;
	char whole[DIGEST_TEXT], part[DIGEST_TEXT];
	uint64_t at = 0, size = 0;
	struct error err = {0};
	autoclose int fd = -1;

	put_program(s, "init", PT_LOAD);
	write_initrd(s, "modules", NULL); /* a segment like any other, with another init in it */
	assert_int_equal(
		path_replace_file_at(s->fd, "pad", "\0\0\0\0", 4, 0600, PATH_NO_SYNC, &err), 0);
	write_initrd(s, "a", scratch_path(s, "modules"));
	fd = openat(s->fd, "a", O_RDWR | O_CLOEXEC);
	assert_int_equal(cpio_find(fd, "init", &at, &size, &err), 0);
	assert_int_equal(digest_range(fd, at, size, part, &err), 0);
	assert_int_equal(digest_file(scratch_path(s, "init"), whole, &err), 0);
	assert_string_equal(part, whole);
	assert_true(at > (uint64_t)lseek(fd, 0, SEEK_END) / 2);	      /* the last one */
	assert_int_equal(cpio_find(fd, "dev", &at, &size, &err), -1); /* no file */
	assert_code(err, ERR_NOT_FOUND);
	/* Sizes and names that lead nowhere. */
	assert_int_equal(pwrite(fd, "ffffffff", 8, 6 + 6 * 8), 8);
	assert_int_equal(cpio_find(fd, "init", &at, &size, &err), -1);
	assert_int_equal(pwrite(fd, "gggggggg", 8, 6 + 6 * 8), 8);
	assert_int_equal(cpio_find(fd, "init", &at, &size, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
}

/* Cuts it as a full disk or a broken copy would: within its contents, a header, a name. */
static void an_initrd_that_ends_too_early_is_told(void **state)
{
	const struct scratch *s = *state;
	uint64_t at = 0, size = 0;
	struct error err = {0};
	autoclose int fd = -1;

	put_program(s, "init", PT_LOAD);
	write_initrd(s, "a", NULL);
	fd = openat(s->fd, "a", O_RDWR | O_CLOEXEC);
	assert_int_equal(cpio_find(fd, "init", &at, &size, &err), 0);
	const off_t ends[] = {(off_t)(at + size - 1), (off_t)at - 3, 60};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		assert_int_equal(ftruncate(fd, ends[i]), 0);
		at = size = 7;
		assert_int_equal(cpio_find(fd, "init", &at, &size, &err), -1);
		assert_code(err, ERR_INVALID);
		assert_string_equal(
			err.msg,
			"the initrd is damaged, because it ends in the middle of an entry: make it again");
		assert_true(at == 7 && size == 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(init_is_found_behind_modules),
		scratch_test(an_initrd_that_ends_too_early_is_told),
		scratch_test(holds_init_and_what_it_mounts_on),
		scratch_test(is_the_same_bytes_each_time),
		scratch_test(modules_come_first_and_aligned),
		scratch_test(a_dynamic_init_is_refused),
		scratch_test(a_program_of_another_architecture_is_refused),
		scratch_test(what_is_no_program_is_refused),
		scratch_test(digests_are_sha256),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
