/* SPDX-License-Identifier: MIT */
/* Tests the image and the list of a reviewed directory: what review-build makes is read by the reader
 * of the list, checked by e2fsck, and taken out again by review-extract. */
#include "review_image.h"

#include <sys/time.h>

#include "artifact/artifact.h"
#include "artifact/ext4.h"
#include "artifact/review.h"
#include "artifact/tool.h"
#include "base/limits.h"
#include "base/program.h"

static void check_by_e2fsck(const struct bed *bed, const char *image)
{
	autofree char *program = program_in_path("e2fsck");
	const char *const argv[] = {program, "-fn", scratch_path(bed->s, image), NULL};
	autobuf struct buf out = BUF_INIT(1 << 20);
	const struct tool tool = {.argv = argv, .out = &out};
	struct error err = {0};

	assert_non_null(program);
	if (tool_run(&tool, &err) < 0)
		fail_msg("%s: %s", err.msg, buf_string(&out));
}

/* Takes files out of the image, through the command, into a new directory. */
static int extract(const struct bed *bed, int image, const char *name, const char *paths,
		   size_t len)
{
	int to = bed_dir(bed->s, name), before = dup(STDIN_FILENO);
	char numbers[2][16];
	struct artifact_options opts = {.from_fd = numbers[0], .fd = numbers[1]};
	struct error err = {0};
	int list = fd_memfd("paths", paths, len, &err);

	snprintf(numbers[0], sizeof(numbers[0]), "%d", image);
	snprintf(numbers[1], sizeof(numbers[1]), "%d", to);
	assert_true(list >= 0 && dup2(list, STDIN_FILENO) >= 0);
	json_decref(run(bed->s, artifact_review_extract, &opts));
	dup2(before, STDIN_FILENO);
	close(before);
	close(list);
	return to;
}

static const char hostile[] = "n\n\x1b[31m\xff '\"";

static void fill_host(struct bed *bed)
{
	static char large[3 << 20];
	const struct timeval times[2] = {{1600000000, 0}, {1600000000, 123456}};

	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)(i / 4096 % 3 == 1 ? 0 : i * 7 % 251);
	put_file(bed->host, "a", "contents of a", 0640);
	put_file(bed->host, "empty", "", 0644);
	put_file(bed->host, "suid", "x", 04755);
	put_bytes(bed->host, "large", large, sizeof(large) - 5, 0644);
	put_file(bed->host, hostile, "x", 0600);
	put_dir(bed->host, "d", 0751);
	put_dir(bed->host, "d/e", 0700);
	put_file(bed->host, "d/e/f", "deep", 0644);
	put_dir(bed->host, "d-", 0755);
	assert_int_equal(symlinkat("../d/e", bed->host, "d/short"), 0);
	assert_int_equal(
		symlinkat(
			"a/target/that/is/too/long/for/an/inode/and/needs/a/block/of/its/own/in/the/image",
			bed->host, "d/long"),
		0);
	assert_int_equal(symlinkat("/etc", bed->host, "etc"), 0);
	assert_int_equal(mkfifoat(bed->host, "d/fifo", 0600), 0);
	assert_int_equal(futimesat(bed->host, "a", times), 0);
}

static void an_image_is_made_and_read_back(void **state)
{
	auto_review_list struct review_list list = {0};
	struct error err = {0};
	struct bed bed;
	struct stat st;

	bed_begin(&bed, state);
	fill_host(&bed);
	struct built built = build(&bed, "image", "list");
	check_by_e2fsck(&bed, "image");
	assert_ok(review_list_read(built.list, &list, &err));
	assert_int_equal(list.count, 13);
	assert_int_equal(json_integer_value(json_object_get(built.answer, "files")), 12);
	assert_int_equal(json_integer_value(json_object_get(built.answer, "leftOutCount")), 1);
	assert_string_equal(
		json_text(json_array_get(json_object_get(built.answer, "leftOut"), 0), "path", ""),
		"d/fifo");

	/* The list has what lstat() says, and the digests. */
	size_t at = review_list_find(&list, "a");
	assert_true(at != REVIEW_NONE);
	assert_int_equal(fstatat(bed.host, "a", &st, 0), 0);
	assert_int_equal(list.entries[at].mtime, 1600000000123456000);
	assert_true(list.entries[at].ino == (uint64_t)st.st_ino);
	assert_int_equal(list.entries[at].mode, 0640);
	assert_int_equal(list.entries[review_list_find(&list, "suid")].mode, 04755);
	uint8_t digest[SHA256_BYTES];
	review_digest_bytes("contents of a", 13, digest);
	assert_memory_equal(list.entries[at].digest, digest, sizeof(digest));
	assert_true(review_list_find(&list, hostile) != REVIEW_NONE);
	assert_int_equal(review_list_find(&list, "d/fifo"), REVIEW_NONE);

	/* Everything comes out as it went in. */
	autobuf struct buf paths = BUF_INIT(0);
	for (size_t i = list.count; i-- > 0;)
		assert_ok(buf_append(&paths, list.entries[i].path, strlen(list.entries[i].path) + 1,
				     &err));
	autoclose int out = extract(&bed, built.image, "out", buf_string(&paths), paths.len);
	for (size_t i = 0; i < list.count; i++) {
		const struct review_entry *entry = &list.entries[i];
		uint64_t size = 0;
		char target[256] = "", wanted[256] = "";

		if (entry->type == 's')
			continue;
		assert_int_equal(fstatat(out, entry->path, &st, AT_SYMLINK_NOFOLLOW), 0);
		if (entry->type == 'f') {
			autoclose int fd = openat(out, entry->path, O_RDONLY | O_CLOEXEC);
			assert_ok(review_digest_file(fd, digest, &size, &err));
			assert_memory_equal(digest, entry->digest, sizeof(digest));
			assert_int_equal(st.st_mode, S_IFREG | 0600);
		} else if (entry->type == 'l') {
			assert_true(readlinkat(out, entry->path, target, sizeof(target) - 1) > 0);
			assert_true(readlinkat(bed.host, entry->path, wanted, sizeof(wanted) - 1) >
				    0);
			assert_string_equal(target, wanted);
		} else {
			assert_int_equal(st.st_mode, S_IFDIR | 0700);
		}
	}
	built_end(&built);
	bed_end(&bed);
}

static void paths_that_are_not_there_are_skipped(void **state)
{
	static const char paths[] =
		"a/below\0d/e/f\0d/e/f\0d/none\0d/short/f\0\0etc/passwd\0../host/a\0/a\0d/../a\0"
		"./a\0d//e\0x";
	struct bed bed;

	bed_begin(&bed, state);
	fill_host(&bed);
	struct built built = build(&bed, "image", "list");
	autoclose int out = extract(&bed, built.image, "out", paths, sizeof(paths));
	check_file(out, "d/e/f", "deep");
	/* Nothing else, and nothing through a link of the image. */
	check_file(out, "a", NULL);
	check_file(out, "d/short", NULL);
	check_file(out, "etc", NULL);
	check_file(out, "x", NULL);
	built_end(&built);
	bed_end(&bed);
}

static void paths_without_an_end_are_refused(void **state)
{
	struct error err = {0};
	struct bed bed;

	bed_begin(&bed, state);
	put_file(bed.host, "a", "a", 0644);
	struct built built = build(&bed, "image", "list");
	autoclose int out = bed_dir(bed.s, "out");
	assert_int_equal(review_take_out(built.image, out, "a", 1, &err), -1);
	assert_code(err, ERR_INVALID);
	/* What is not an image at all. */
	autoclose int no_image = fd_memfd("image", "no image", 8, &err);
	assert_int_equal(review_take_out(no_image, out, "a", 2, &err), -1);
	assert_code(err, ERR_IO);
	built_end(&built);
	bed_end(&bed);
}

/* The second image of the same files comes from the cache; that of other files does not. */
static void an_image_is_used_again(void **state)
{
	char first[4096], again[4096];
	struct bed bed;

	bed_begin(&bed, state);
	put_file(bed.host, "f", "one", 0644);
	struct built one = build(&bed, "image-1", "list-1");
	assert_true(json_is_false(json_object_get(one.answer, "reused")));
	put_file(bed.host, "f", "two", 0644);
	struct built two = build(&bed, "image-2", "list-2");
	assert_true(json_is_false(json_object_get(two.answer, "reused")));
	struct built three = build(&bed, "image-3", "list-3");
	autoclose int out = extract(&bed, three.image, "out", "f", 2);
	check_file(out, "f", "two");
	ssize_t n = pread(two.list, first, sizeof(first), 0);
	assert_true(n > 0);
	assert_int_equal(pread(three.list, again, sizeof(again), 0), n);
	assert_memory_equal(first, again, (size_t)n);
	built_end(&one);
	built_end(&two);
	built_end(&three);
	bed_end(&bed);
}

static void directories_that_cannot_be_taken(void **state)
{
	auto_review struct review review = {0};
	struct error err = {0};
	struct bed bed;

	bed_begin(&bed, state);
	put_file(bed.host, "a", "1234", 0644);
	put_file(bed.host, "b", "1234", 0644);
	limit_set(LIMIT_REVIEW_FILES, 1);
	assert_int_equal(review_walk(bed.host, &review, &err), -1);
	assert_code(err, ERR_UNAVAILABLE);
	limit_reset(LIMIT_REVIEW_FILES);
	limit_set(LIMIT_REVIEW_BYTES, 7);
	assert_int_equal(review_walk(bed.host, &review, &err), -1);
	assert_code(err, ERR_UNAVAILABLE);
	limit_reset(LIMIT_REVIEW_BYTES);
	assert_ok(review_walk(bed.host, &review, &err));
	assert_int_equal(review.count, 2);
	assert_int_equal(review.bytes, 8);
	assert_int_equal(review_walk(-1, &review, &err), -1);
	bed_end(&bed);
}

/* The files change between the walk and the moment at which they are read. */
static void files_that_change_meanwhile(void **state)
{
	const struct rootfs_bounds bounds = {
		.bytes = UINT64_MAX, .count = UINT64_MAX, .text = UINT64_MAX, .straight = true};
	auto_review struct review review = {0};
	auto_review_list struct review_list list = {0};
	struct error err = {0};
	struct rootfs_source source;
	struct bed bed;

	bed_begin(&bed, state);
	for (const char *const *at =
		     (const char *const[]){"gone", "linked", "longer", "shorter", NULL};
	     *at; at++)
		put_file(bed.host, *at, "as it was", 0644);
	assert_ok(review_walk(bed.host, &review, &err));
	assert_int_equal(unlinkat(bed.host, "gone", 0), 0);
	put_file(bed.s->fd, "secret", "secret", 0644);
	assert_int_equal(unlinkat(bed.host, "linked", 0), 0);
	assert_int_equal(symlinkat("../secret", bed.host, "linked"), 0);
	put_file(bed.host, "longer", "as it was, and more", 0644);
	put_file(bed.host, "shorter", "as", 0644);
	struct rootfs *fs = rootfs_new(-1, 1600000000, &bounds, &err);
	assert_non_null(fs);
	assert_ok(review_fill(&review, fs, &source, &err));
	const struct ext4_spec spec = {.label = "review",
				       .uuid = "6d696372-6f61-4765-8e74-2d7465737400",
				       .size = 32 << 20,
				       .inodes = 256,
				       .time = 1600000000};
	assert_ok(tool_extend_path(&err));
	assert_ok(ext4_make(&spec, fs, scratch_path(bed.s, "image"), &err));
	rootfs_free(fs);
	autoclose int fd = openat(bed.s->fd, "list", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_ok(review_write_list(&review, fd, &err));
	assert_ok(review_list_read(fd, &list, &err));
	check_by_e2fsck(&bed, "image");
	autoclose int image = openat(bed.s->fd, "image", O_RDONLY | O_CLOEXEC);
	static const char paths[] = "gone\0linked\0longer\0shorter";
	autoclose int out = extract(&bed, image, "out", paths, sizeof(paths));
	check_file(out, "gone", "");
	check_file(out, "linked", "");
	check_file(out, "longer", "as it was, and more");
	check_file(out, "shorter", "as");
	/* The list has the digests of the image's bytes. */
	for (size_t i = 0; i < list.count; i++) {
		uint8_t digest[SHA256_BYTES];
		uint64_t size = 0;
		autoclose int file = openat(out, list.entries[i].path, O_RDONLY | O_CLOEXEC);

		assert_ok(review_digest_file(file, digest, &size, &err));
		assert_memory_equal(digest, list.entries[i].digest, sizeof(digest));
		assert_int_equal(size, list.entries[i].size);
	}
	bed_end(&bed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_image_is_made_and_read_back),	TEST(paths_that_are_not_there_are_skipped),
		TEST(paths_without_an_end_are_refused), TEST(an_image_is_used_again),
		TEST(directories_that_cannot_be_taken), TEST(files_that_change_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
