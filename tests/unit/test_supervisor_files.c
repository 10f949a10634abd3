/* SPDX-License-Identifier: MIT */
/* Tests serial.log, the check of a root file system, the verification block, and options. */
#include "test_base.h"

#include <sys/stat.h>

#include "base/json.h"
#include "base/limits.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/rootfs.h"
#include "supervisor/live/serial_log.h"
#include "supervisor/options.h"

/* --- serial.log ------------------------------------------------------------------------------ */

static void say(struct serial_log *log, const char *text)
{
	serial_log_write(log, text, strlen(text));
}

static void the_tail_is_of_this_boot(void **state)
{
	const struct scratch *s = *state;
	struct serial_log log;
	struct error err;
	char tail[64];

	assert_ok(serial_log_open(&log, s->fd, "serial.log", 1 << 20, &err));
	say(&log, "first boot\n");
	serial_log_close(&log);
	assert_ok(serial_log_open(&log, s->fd, "serial.log", 1 << 20, &err));
	serial_log_tail(&log, tail, sizeof(tail));
	assert_string_equal(tail, "");
	assert_false(serial_log_was_written(&log));
	say(&log, "one\r\n\ntwo\033[0m \n  three");
	serial_log_tail(&log, tail, sizeof(tail));
	assert_string_equal(tail, "one | two?[0m |   three");
	serial_log_close(&log);
}

static void a_long_tail_begins_with_a_line(void **state)
{
	const struct scratch *s = *state;
	struct serial_log log;
	struct error err;
	char tail[32];

	assert_ok(serial_log_open(&log, s->fd, "serial.log", 1 << 20, &err));
	say(&log, "a line that is too long for it\nsecond line\nthird line\n");
	serial_log_tail(&log, tail, sizeof(tail));
	assert_string_equal(tail, "second line | third line");
	serial_log_close(&log);
}

static void a_harmless_line_is_left_out(void **state)
{
	const struct scratch *s = *state;
	struct serial_log log;
	struct error err;
	char tail[120];

	assert_ok(serial_log_open(&log, s->fd, "serial.log", 1 << 20, &err));
	say(&log, "[0.1] PCI: Fatal: No config space access function found\r\n");
	serial_log_tail(&log, tail, sizeof(tail));
	assert_string_equal(tail, "");
	assert_true(serial_log_was_written(&log));
	say(&log, "first\n"
		  "PCI: Fatal: No config space access function found\nlast\n");
	serial_log_tail(&log, tail, sizeof(tail));
	assert_string_equal(tail, "first | last");
	serial_log_close(&log);
}

static void a_panic_comes_first(void **state)
{
	const struct scratch *s = *state;
	struct serial_log log;
	struct error err;
	char tail[120];

	assert_ok(serial_log_open(&log, s->fd, "serial.log", 1 << 20, &err));
	say(&log, "[1.0] Kernel panic - not syncing: no root\n");
	for (int i = 0; i < 100; i++)
		say(&log, "[1.1] a trace\n");
	say(&log, "the end\n");
	serial_log_tail(&log, tail, sizeof(tail));
	assert_int_equal(strncmp(tail, "Kernel panic - not syncing: no root ... [1.1]", 45), 0);
	assert_string_equal(tail + strlen(tail) - 7, "the end");
	serial_log_close(&log);
}

static uint64_t size_of(const struct scratch *s)
{
	struct stat st;

	assert_int_equal(fstatat(s->fd, "serial.log", &st, 0), 0);
	return (uint64_t)st.st_size;
}

static void the_oldest_half_goes(void **state)
{
	const struct scratch *s = *state;
	struct serial_log log;
	struct error err;
	char line[32], tail[64], text[4096];
	ssize_t n;

	assert_ok(serial_log_open(&log, s->fd, "serial.log", 1000, &err));
	for (int i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "line %d\n", i);
		say(&log, line);
		assert_true(size_of(s) <= 1000);
		assert_int_equal(size_of(s), log.size);
	}
	serial_log_tail(&log, tail, sizeof(tail));
	assert_non_null(strstr(tail, "line 999"));
	/* The kept part begins with a whole line and has no gap. */
	n = pread(log.fd, text, sizeof(text) - 1, 0);
	assert_true(n >= 400);
	text[n] = '\0';
	int first = -1, next;
	char *p = text;

	assert_int_equal(sscanf(p, "line %d\n", &first), 1);
	for (next = first; next < 1000; next++) {
		snprintf(line, sizeof(line), "line %d\n", next);
		assert_int_equal(strncmp(p, line, strlen(line)), 0);
		p += strlen(line);
	}
	assert_string_equal(p, "");
	serial_log_close(&log);
}

static void more_at_once_than_the_cap(void **state)
{
	const struct scratch *s = *state;
	struct serial_log log;
	struct error err;
	char text[5000];

	memset(text, 'x', sizeof(text));
	assert_ok(serial_log_open(&log, s->fd, "serial.log", 1000, &err));
	for (int i = 0; i < 5; i++) {
		serial_log_write(&log, text, sizeof(text));
		assert_true(size_of(s) <= 1000 && size_of(s) > 0);
	}
	serial_log_close(&log);
}

static void a_link_is_no_serial_log(void **state)
{
	const struct scratch *s = *state;
	struct serial_log log;
	struct error err;

	assert_int_equal(symlinkat("elsewhere", s->fd, "serial.log"), 0);
	assert_int_equal(serial_log_open(&log, s->fd, "serial.log", 1000, &err), -1);
	assert_int_equal(faccessat(s->fd, "elsewhere", F_OK, 0), -1);
}

/* --- root file systems ----------------------------------------------------------------------- */

static void put_le32(uint8_t *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

static void superblocks(void **state)
{
	uint8_t header[ROOTFS_HEADER] = {0};
	struct error err = {0};
	uint64_t size = 0;

	(void)state;
	assert_int_equal(rootfs_size(header, &size, &err), -1);
	assert_code(err, ERR_INVALID);
	header[1024 + 56] = 0x53;
	header[1024 + 57] = 0xEF;
	assert_int_equal(rootfs_size(header, &size, &err), -1); /* no blocks */
	put_le32(header + 1024 + 4, 1000);
	put_le32(header + 1024 + 24, 2);
	assert_ok(rootfs_size(header, &size, &err));
	assert_int_equal(size, 4096000);
	put_le32(header + 1024 + 0x150, 1); /* counts only with the feature */
	assert_ok(rootfs_size(header, &size, &err));
	assert_int_equal(size, 4096000);
	put_le32(header + 1024 + 0x60, 0x80);
	assert_ok(rootfs_size(header, &size, &err));
	assert_int_equal(size, (UINT64_C(1) << 32) * 4096 + 4096000);
	put_le32(header + 1024 + 0x150, UINT32_MAX);
	assert_int_equal(rootfs_size(header, &size, &err), -1);
	put_le32(header + 1024 + 24, 60);
	assert_int_equal(rootfs_size(header, &size, &err), -1);
}

static void magic_numbers(void **state)
{
	static const uint8_t magic[] = {0x53, 0xEF};
	const struct scratch *s = *state;
	autoclose int fd = openat(s->fd, "disk", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_false(rootfs_has_ext4_magic(fd));
	assert_int_equal(pwrite(fd, magic, 1, 1080), 1);
	assert_false(rootfs_has_ext4_magic(fd)); /* cut off within it */
	assert_int_equal(pwrite(fd, magic, 2, 1080), 2);
	assert_true(rootfs_has_ext4_magic(fd));
	assert_int_equal(pwrite(fd, magic, 1, 1081), 1);
	assert_false(rootfs_has_ext4_magic(fd));
}

static void truncated_images(void **state)
{
	const struct scratch *s = *state;
	uint8_t header[ROOTFS_HEADER] = {0};
	struct error err = {0};
	int fd = openat(s->fd, "root", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	header[1024 + 56] = 0x53;
	header[1024 + 57] = 0xEF;
	put_le32(header + 1024 + 4, 64);
	assert_int_equal(pwrite(fd, header, 1500, 0), 1500);
	assert_int_equal(rootfs_check(fd, &err), -1);
	assert_int_equal(pwrite(fd, header, sizeof(header), 0), sizeof(header));
	assert_int_equal(rootfs_check(fd, &err), -1);
	assert_non_null(strstr(err.msg, "truncated"));
	assert_int_equal(ftruncate(fd, 65536), 0);
	assert_ok(rootfs_check(fd, &err));
	assert_int_equal(ftruncate(fd, 65535), 0);
	assert_int_equal(rootfs_check(fd, &err), -1);
	close(fd);
}

/* --- verification ---------------------------------------------------------------------------- */

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B64 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static char kernel_path[] = "/k", initrd_path[] = "/k.initrd", rootfs_path[] = "/r";

static struct boot_files some_files(void)
{
	struct boot_files files = {0};

	files.file[BOOT_KERNEL].path = kernel_path;
	files.file[BOOT_INITRD].path = initrd_path;
	files.file[BOOT_INIT].path = initrd_path;
	files.file[BOOT_ROOTFS].path = rootfs_path;
	memcpy(files.file[BOOT_KERNEL].sha256, A64, DIGEST_TEXT);
	memcpy(files.file[BOOT_INITRD].sha256, B64, DIGEST_TEXT);
	memcpy(files.file[BOOT_INIT].sha256, A64, DIGEST_TEXT);
	return files;
}

static void the_same_files(void **state)
{
	struct boot_files files = some_files();
	struct error err = {0};
	json_auto_t *recorded = boot_files_record(&files, &err);
	json_auto_t *image = json_pack("{s:s,s:s}", "imageRef", "busybox", "other", "x");
	json_auto_t *block = boot_files_verify(&files, image, recorded, &err);
	json_auto_t *fresh = boot_files_verify(&files, NULL, NULL, &err);

	(void)state;
	assert_true(json_is_true(json_object_get(block, "ok")));
	assert_string_equal(json_string_value(json_object_get(block, "imageRef")), "busybox");
	assert_null(json_object_get(block, "other"));
	assert_string_equal(json_string_value(json_object_get(json_object_get(block, "kernel"),
							      "recordedSHA256")),
			    A64);
	assert_null(json_object_get(json_object_get(block, "rootfs"), "sha256"));
	assert_ok(verification_require(block, &err));
	assert_true(json_is_true(json_object_get(fresh, "ok")));
	assert_null(json_object_get(json_object_get(fresh, "kernel"), "recordedSHA256"));
}

static void other_files(void **state)
{
	struct boot_files files = some_files();
	struct error err = {0};
	json_auto_t *recorded = boot_files_record(&files, &err);
	json_auto_t *block = NULL;
	const json_t *first;

	(void)state;
	memcpy(files.file[BOOT_KERNEL].sha256, B64, DIGEST_TEXT);
	error_set(&files.file[BOOT_ROOTFS].error, ERR_NOT_FOUND, "/r: gone");
	block = boot_files_verify(&files, NULL, recorded, &err);
	assert_true(json_is_false(json_object_get(block, "ok")));
	assert_int_equal(json_array_size(json_object_get(block, "divergence")), 2);
	first = json_array_get(json_object_get(block, "divergence"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "artifact")), "kernel");
	assert_string_equal(json_string_value(json_object_get(first, "expected")), A64);
	assert_string_equal(json_string_value(json_object_get(first, "actual")), B64);
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(block, "divergence"), 1), "error")),
		"/r: gone");
	assert_int_equal(verification_require(block, &err), -1);
	assert_code(err, ERR_CONFLICT);
	assert_non_null(strstr(err.msg, "/k"));
}

/* An upgrade changes the initrd and the init in it. The message is about the init. */
static void another_init(void **state)
{
	struct boot_files files = some_files();
	struct error err = {0};
	json_auto_t *recorded = boot_files_record(&files, &err);
	json_auto_t *block = NULL;

	(void)state;
	memcpy(files.file[BOOT_INITRD].sha256, A64, DIGEST_TEXT);
	memcpy(files.file[BOOT_INIT].sha256, B64, DIGEST_TEXT);
	block = boot_files_verify(&files, NULL, recorded, &err);
	assert_int_equal(json_array_size(json_object_get(block, "divergence")), 2);
	assert_int_equal(verification_require(block, &err), -1);
	assert_code(err, ERR_CONFLICT);
	assert_non_null(strstr(err.msg, "guest's init"));
	assert_non_null(strstr(err.msg, "prepare the workspace again"));
	/* No init can be seen where one was recorded. */
	files.file[BOOT_INIT].sha256[0] = '\0';
	json_decref(block);
	block = boot_files_verify(&files, NULL, recorded, &err);
	assert_int_equal(json_array_size(json_object_get(block, "divergence")), 2);
}

static const char *rootfs_text(const json_t *block, const char *key)
{
	return json_text(json_object_get(block, "rootfs"), key, "");
}

/* Writes of a started guest are reported, and are no divergence. */
static void a_started_disk(void **state)
{
	struct boot_files files = some_files();
	struct error err = {0};
	json_auto_t *recorded = NULL, *block = NULL;

	(void)state;
	memcpy(files.file[BOOT_ROOTFS].sha256, A64, DIGEST_TEXT);
	recorded = boot_files_record(&files, &err);
	memcpy(files.file[BOOT_ROOTFS].sha256, B64, DIGEST_TEXT);
	block = boot_files_verify(&files, NULL, recorded, &err);
	assert_true(json_is_false(json_object_get(block, "ok")));
	json_decref(block);
	/* The digest is of now. */
	files.rootfs_started = true;
	block = boot_files_verify(&files, NULL, recorded, &err);
	assert_true(json_is_true(json_object_get(block, "ok")));
	assert_string_equal(rootfs_text(block, "sha256"), B64);
	assert_string_equal(rootfs_text(block, "lastSHA256"), "");
	json_decref(block);
	/* The digest is of an earlier time. */
	snprintf(files.rootfs_observed_at, CLOCK_TEXT, "%s", "2026-05-02T00:00:00.000Z");
	block = boot_files_verify(&files, NULL, recorded, &err);
	assert_true(json_is_true(json_object_get(block, "ok")));
	assert_string_equal(rootfs_text(block, "sha256"), "");
	assert_string_equal(rootfs_text(block, "lastSHA256"), B64);
	assert_string_equal(rootfs_text(block, "observedAt"), "2026-05-02T00:00:00.000Z");
	assert_string_equal(rootfs_text(block, "recordedSHA256"), A64);
}

/* A comparison before a start is not reported as one after it, and an old digest keeps its age. */
static void a_disk_that_a_guest_gets(void **state)
{
	struct boot_files files = some_files();
	struct error err = {0};
	json_auto_t *block = NULL;

	(void)state;
	memcpy(files.file[BOOT_ROOTFS].sha256, A64, DIGEST_TEXT);
	block = boot_files_verify(&files, NULL, NULL, &err);
	for (int i = 1; i <= 2; i++) {
		char when[CLOCK_TEXT];

		snprintf(when, sizeof(when), "2026-05-0%dT00:00:00.000Z", i);
		assert_ok(verification_hand_over_rootfs(block, when, &err));
		assert_string_equal(rootfs_text(block, "sha256"), "");
		assert_string_equal(rootfs_text(block, "lastSHA256"), A64);
		assert_string_equal(rootfs_text(block, "observedAt"), "2026-05-01T00:00:00.000Z");
	}
}

/* --- options --------------------------------------------------------------------------------- */

static int parse(struct options *out, struct error *err, const char *one, const char *two)
{
	char first[64], second[64], program[] = "p";
	char *argv[] = {program, first, two ? second : NULL, NULL};

	snprintf(first, sizeof(first), "%s", one);
	snprintf(second, sizeof(second), "%s", two ? two : "");
	return options_parse(two ? 3 : 2, argv, out, err);
}

static void options(void **state)
{
	static const char *const bad[][2] = {
		{"--attache", NULL},	  {"attach", NULL},	    {"--attach=1", NULL},
		{"--lifeline-fd", NULL},  {"--lifeline-fd", "two"}, {"--lifeline-fd", "2"},
		{"--lifeline-fd", "999"}, {"--lifeline-fd=", NULL}, {"--events-fd", "-1"},
		{"--events-fd", "0x5"},	  {"--events-fd=7x", NULL},
	};
	const struct scratch *s = *state;
	struct options got;
	struct error err;
	char number[16];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse(&got, &err, bad[i][0], bad[i][1]) == 0)
			fail_msg("taken: %s %s", bad[i][0], bad[i][1] ? bad[i][1] : "");
	snprintf(number, sizeof(number), "%d", s->fd);
	assert_ok(parse(&got, &err, "--lifeline-fd", number));
	assert_int_equal(got.lifeline_fd, s->fd);
	assert_int_equal(got.events_fd, -1);
	assert_ok(parse(&got, &err, "--attach", "--remove"));
	assert_true(got.attach && got.remove && !got.help && !got.live);
	assert_ok(parse(&got, &err, "--live-supervisor-of-workspace=/s/w", NULL));
	assert_string_equal(got.live, "/s/w");
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(the_tail_is_of_this_boot),
		scratch_test(a_long_tail_begins_with_a_line),
		scratch_test(a_harmless_line_is_left_out),
		scratch_test(a_panic_comes_first),
		scratch_test(the_oldest_half_goes),
		scratch_test(more_at_once_than_the_cap),
		scratch_test(a_link_is_no_serial_log),
		cmocka_unit_test(superblocks),
		scratch_test(magic_numbers),
		scratch_test(truncated_images),
		cmocka_unit_test(the_same_files),
		cmocka_unit_test(other_files),
		cmocka_unit_test(another_init),
		cmocka_unit_test(a_started_disk),
		cmocka_unit_test(a_disk_that_a_guest_gets),
		scratch_test(options),
	};

	return cmocka_run_group_tests_name("supervisor files", tests, NULL, NULL);
}
