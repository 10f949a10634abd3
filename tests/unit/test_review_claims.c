/* SPDX-License-Identifier: MIT */
/* Tests the reader of a guest's claims about an upper layer. */
#include "test_base.h"

#include <limits.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "store/review/claims.h"

static int read_bytes(const void *bytes, size_t len, struct review_claims *out, struct error *err)
{
	autoclose int fd = fd_memfd("claims", bytes, len, err);

	assert_true(fd >= 0);
	return review_claims_read(fd, out, err);
}

static int read_claims(struct buf *text, struct review_claims *out, struct error *err)
{
	return read_bytes(buf_bytes(text), text->len, out, err);
}

static void add(struct buf *text, char type, const char *path, const char *more)
{
	struct error err = {0};

	assert_ok(review_claims_add(text, type, 0644, 5, path, more, &err));
}

static const struct review_claim *claim_of(const struct review_claims *claims, const char *path)
{
	size_t at = review_claims_find(claims, path);

	assert_true(at != REVIEW_NONE);
	return &claims->entries[at];
}

/* Returns why the claim is broken, of which there is only one about that path. */
static const char *broken(const struct review_claims *claims, const char *path)
{
	for (size_t i = 0; i < claims->count; i++)
		if (strcmp(claims->entries[i].path, path) == 0)
			return claims->entries[i].broken ? claims->entries[i].broken : "";
	return NULL;
}

static void claims_are_written_and_read(void **state)
{
	auto_review_claims struct review_claims claims = {0};
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};

	(void)state;
	assert_ok(review_claims_add(&text, 'd', 0755, 1, "", NULL, &err));
	assert_ok(review_claims_add(&text, 'o', 0755, 1, "", NULL, &err));
	assert_ok(review_claims_add(&text, 'd', 040755, 1, "dir", NULL, &err));
	assert_ok(review_claims_add(&text, 'o', 0, 0, "dir", NULL, &err));
	assert_ok(review_claims_add(&text, 'f', 0104711, -1700000000000000001, "dir/f\n\x1b\xff",
				    "", &err));
	assert_ok(review_claims_add(&text, 'h', 0, 0, "dir/h", "dir/f\n\x1b\xff", &err));
	assert_ok(review_claims_add(&text, 'd', 0700, 1, "moved", NULL, &err));
	assert_ok(review_claims_add(&text, 'r', 0, 0, "moved", "/old dir", &err));
	assert_ok(review_claims_add(&text, 'w', 0, 0, "gone", NULL, &err));
	assert_ok(review_claims_add(&text, 'l', 0777, 0, "link", "a target", &err));
	assert_ok(review_claims_add(&text, 's', 0, 0, "device", NULL, &err));
	assert_ok(read_claims(&text, &claims, &err));
	assert_int_equal(claims.count, 7);
	assert_true(claim_of(&claims, "dir")->opaque);
	assert_int_equal(claim_of(&claims, "dir")->mode, 0755);
	assert_int_equal(claim_of(&claims, "dir")->parent, REVIEW_ROOT);
	assert_int_equal(claim_of(&claims, "dir/f\n\x1b\xff")->mode, 04711);
	assert_int_equal(claim_of(&claims, "dir/f\n\x1b\xff")->mtime, -1700000000000000001);
	assert_ptr_equal(&claims.entries[claim_of(&claims, "dir/h")->parent],
			 claim_of(&claims, "dir"));
	assert_int_equal(claim_of(&claims, "dir/h")->mode, 04711);
	assert_string_equal(claim_of(&claims, "moved")->redirect, "/old dir");
	assert_false(claim_of(&claims, "moved")->opaque);
	assert_int_equal(claim_of(&claims, "gone")->type, 'w');
	assert_string_equal(claim_of(&claims, "link")->text, "a target");
	assert_string_equal(claim_of(&claims, "device")->text, "");
	assert_true(review_claims_are_below(&claims, "dir"));
	assert_false(review_claims_are_below(&claims, "moved"));
}

static void no_claims(void **state)
{
	struct review_claims claims = {.count = 7};
	struct error err = {0};

	(void)state;
	assert_ok(read_bytes("", 0, &claims, &err));
	assert_int_equal(claims.count, 0);
	review_claims_free(&claims);
}

static void claims_that_cannot_be_true(void **state)
{
	char deep[PATH_MAX + 8];
	auto_review_claims struct review_claims claims = {0};
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};

	(void)state;
	memset(deep, 'a', sizeof(deep));
	for (size_t i = 200; i < sizeof(deep); i += 200)
		deep[i] = '/';
	deep[4096] = '\0';
	add(&text, 'f', "../../etc/passwd", NULL);
	add(&text, 'f', "/etc/passwd", NULL);
	add(&text, 'f', deep, NULL);
	add(&text, 'f', "no/dir", NULL);
	add(&text, 'f', "file", NULL);
	add(&text, 'f', "file/below", NULL);
	add(&text, 'o', "file", NULL);
	add(&text, 'o', "nothing", NULL);
	add(&text, 'r', "nothing too", "/x");
	add(&text, 'h', "hard", "etc");
	add(&text, 'd', "two", NULL);
	add(&text, 'd', "two/below", NULL);
	add(&text, 'f', "two/below/file", NULL);
	add(&text, 'r', "two", "/x");
	add(&text, 'r', "two", "/y");
	assert_ok(read_claims(&text, &claims, &err));
	for (const char *const *at =
		     (const char *const[]){"../../etc/passwd", "/etc/passwd", deep, "no/dir",
					   "file/below", "nothing", "nothing too", "hard", "two",
					   "two/below", "two/below/file", NULL};
	     *at; at++) {
		const char *why = broken(&claims, *at);

		if (!why || !*why)
			fail_msg("\"%.100s\" is believed", *at);
		assert_int_equal(review_claims_find(&claims, *at), REVIEW_NONE);
	}
	/* The file itself stays. */
	assert_int_equal(claim_of(&claims, "file")->type, 'f');
}

/* A path that is named twice: the file counts, and not that it was left out. */
static void one_path_twice(void **state)
{
	auto_review_claims struct review_claims claims = {0};
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};
	size_t broken_ones = 0;

	(void)state;
	add(&text, 's', "d", "permission denied");
	add(&text, 'w', "d", NULL);
	add(&text, 'd', "d", NULL);
	add(&text, 'f', "d/f", NULL);
	for (int i = 0; i < 1000; i++)
		add(&text, 'f', "d/f", NULL);
	assert_ok(read_claims(&text, &claims, &err));
	assert_int_equal(claim_of(&claims, "d")->type, 'd');
	assert_int_equal(claim_of(&claims, "d/f")->type, 'f');
	for (size_t i = 0; i < claims.count; i++)
		broken_ones += claims.entries[i].broken != NULL;
	assert_int_equal(broken_ones, 1002);
}

static void damaged_claims_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} damaged[] = {
		{"f 644 0 a", 9},    {"q 644 0 a", 10},
		{"f 644 0", 8},	     {"f 648 0 a", 10},
		{"f 10000 0 a", 12}, {"f  0 a", 7},
		{"f 644 0x a", 11},  {"l 777 0 a", 10},
		{"\0", 1},	     {"f 644 99999999999999999999 a", 29},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		struct review_claims claims = {.count = 7};
		struct error err = {0};

		if (read_bytes(damaged[i].bytes, damaged[i].len, &claims, &err) != -1)
			fail_msg("\"%s\" was read", damaged[i].bytes);
		assert_code(err, ERR_IO);
		assert_int_equal(claims.count, 7);
	}
}

static void many_claims_are_read_quickly(void **state)
{
	auto_review_claims struct review_claims claims = {0};
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};
	char path[300];

	(void)state;
	/* Each name is the beginning of the next one. */
	for (int i = 1; i < 250; i++) {
		snprintf(
			path, sizeof(path), "%.*s", i,
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
		add(&text, 'd', path, NULL);
	}
	for (int i = 0; i < 200000; i++) {
		snprintf(path, sizeof(path), "aaaa/%06d", i);
		add(&text, i % 2 ? 'f' : 'd', path, NULL);
		if (i % 2 == 0)
			add(&text, 'r', path, "/x");
	}
	uint64_t began = clock_mono_ns();
	assert_ok(read_claims(&text, &claims, &err));
	assert_true(clock_mono_ns() - began < 20 * NS_PER_S);
	assert_int_equal(claims.count, 200249);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_are_written_and_read),
		cmocka_unit_test(no_claims),
		cmocka_unit_test(claims_that_cannot_be_true),
		cmocka_unit_test(one_path_twice),
		cmocka_unit_test(damaged_claims_are_refused),
		cmocka_unit_test(many_claims_are_read_quickly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
