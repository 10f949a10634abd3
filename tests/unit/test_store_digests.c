/* SPDX-License-Identifier: MIT */
/* Tests digests of files: who computes them, and how long they are remembered. */
#include "test_base.h"

#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "channel/hasher.h"
#include "store/digests.h"

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void put(const struct scratch *s, const char *name, const char *text, mode_t mode)
{
	int fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* A hasher that counts how often it is run. */
static size_t runs(const struct scratch *s)
{
	struct stat st;

	return fstatat(s->fd, "count", &st, 0) < 0 ? 0 : (size_t)st.st_size;
}

/* Makes a file, with that hasher and a cache of the test. */
static int make_file(const struct scratch *s)
{
	char text[256];

	snprintf(text, sizeof(text), "#!/bin/sh\nprintf x >>%s/count\nexec sha256sum <&3\n",
		 s->path);
	put(s, "microagent-artifact", text, 0700);
	snprintf(text, sizeof(text), "%s:/usr/bin:/bin", s->path);
	setenv("PATH", text, 1);
	snprintf(text, sizeof(text), "%s/cache", s->path);
	setenv("MICROAGENT_CACHE_DIR", text, 1);
	put(s, "file", "abc", 0600);
	return openat(s->fd, "file", O_RDONLY | O_CLOEXEC);
}

static void a_young_file_is_hashed_each_time(void **state)
{
	const struct scratch *s = *state;
	autoclose int fd = make_file(s);
	char digest[DIGEST_TEXT];
	struct error err;

	assert_ok(digest_of(fd, DIGEST_FILE, digest, &err));
	assert_string_equal(digest,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_ok(digest_of(fd, DIGEST_FILE, digest, &err));
	assert_int_equal(runs(s), 2);
}

static void a_settled_file_is_remembered_until_it_changes(void **state)
{
	const struct scratch *s = *state;
	autoclose int fd = make_file(s);
	char one[DIGEST_TEXT], two[DIGEST_TEXT];
	struct error err;

	limit_set(LIMIT_DIGEST_SETTLED_MS, 0);
	assert_ok(digest_of(fd, DIGEST_FILE, one, &err));
	assert_ok(digest_of(fd, DIGEST_FILE, two, &err));
	assert_string_equal(one, two);
	assert_int_equal(runs(s), 1);
	/* The descriptor's offset belongs to its owner. */
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	put(s, "file", "abd", 0600);
	assert_ok(digest_of(fd, DIGEST_FILE, two, &err));
	assert_string_not_equal(one, two);
	assert_int_equal(runs(s), 2);
	limit_reset(LIMIT_DIGEST_SETTLED_MS);
}

/* A copy made by its owner is known by its source, though it is young. A copy of a source that
 * changed meanwhile is not. */
static void a_copy_is_known_by_its_source(void **state)
{
	const struct scratch *s = *state;
	autoclose int fd = make_file(s), clone = -1;
	char one[DIGEST_TEXT], two[DIGEST_TEXT];
	struct digest_key before;
	struct error err;

	limit_set(LIMIT_DIGEST_SETTLED_MS, 0);
	assert_ok(digest_of(fd, DIGEST_FILE, two, &err));
	limit_reset(LIMIT_DIGEST_SETTLED_MS);
	assert_ok(digest_key(fd, DIGEST_FILE, &before, &err));
	put(s, "clone", "abc", 0600);
	clone = openat(s->fd, "clone", O_RDONLY | O_CLOEXEC);
	digest_remember_clone(&before, fd, clone);
	assert_ok(digest_of(clone, DIGEST_FILE, one, &err));
	assert_string_equal(one, two);
	assert_int_equal(runs(s), 1);
	put(s, "clone", "abe", 0600);
	before.text[0] = 'x';
	digest_remember_clone(&before, fd, clone);
	assert_ok(digest_of(clone, DIGEST_FILE, one, &err));
	assert_string_not_equal(one, two);
	assert_int_equal(runs(s), 2);
}

static void a_damaged_cache_is_no_cache(void **state)
{
	const struct scratch *s = *state;
	autoclose int fd = make_file(s);
	char path[256], one[DIGEST_TEXT], two[DIGEST_TEXT];
	struct digest_key key;
	struct error err;

	limit_set(LIMIT_DIGEST_SETTLED_MS, 0);
	assert_ok(digest_of(fd, DIGEST_FILE, one, &err));
	assert_ok(digest_key(fd, DIGEST_FILE, &key, &err));
	snprintf(path, sizeof(path), "cache/digests/%s", key.text);
	put(s, path, "{", 0600);
	assert_ok(digest_of(fd, DIGEST_FILE, two, &err));
	assert_string_equal(one, two);
	assert_int_equal(runs(s), 2);
	limit_reset(LIMIT_DIGEST_SETTLED_MS);
}

/* However many come, the number stays bounded, and a digest that is asked for again and again
 * stays. */
static void the_longest_unused_are_forgotten(void **state)
{
	const struct scratch *s = *state;
	autoclose int fd = make_file(s);
	const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct digest_key used, other = {.settled = true}, large = {"8:99:64424509440:1:1", true};
	char path[256], digest[DIGEST_TEXT];
	size_t known = 0;
	struct error err;

	limit_set(LIMIT_DIGEST_SETTLED_MS, 0);
	assert_ok(digest_of(fd, DIGEST_FILE, digest, &err));
	assert_ok(digest_key(fd, DIGEST_FILE, &used, &err));
	snprintf(path, sizeof(path), "cache/digests/%s", used.text);
	limit_set(LIMIT_DIGESTS_KEPT, 16);
	digest_remember(&large, A64);
	for (unsigned i = 0; i < 640; i++) {
		snprintf(other.text, sizeof(other.text), "8:%u:3:1:1", i);
		digest_remember(&other, A64);
		/* Lets time pass since it was asked for. */
		assert_int_equal(utimensat(s->fd, path, long_ago, 0), 0);
		assert_true(digest_recall(&used, digest));
	}
	for (unsigned i = 0; i < 640; i++) {
		snprintf(other.text, sizeof(other.text), "8:%u:3:1:1", i);
		known += digest_recall(&other, digest);
	}
	assert_in_range(known, 1, 16 + 16 * 32);
	assert_true(digest_recall(&other, digest)); /* the newest */
	assert_true(digest_recall(&large, digest)); /* which would take long to hash anew */
	limit_reset(LIMIT_DIGESTS_KEPT);
	limit_reset(LIMIT_DIGEST_SETTLED_MS);
}

static void a_hasher_that_tells_none(void **state)
{
	const struct scratch *s = *state;
	autoclose int fd = make_file(s);
	char digest[DIGEST_TEXT] = "as before";
	struct error err;

	put(s, "microagent-artifact", "#!/bin/sh\necho none\n", 0700);
	assert_int_equal(digest_of(fd, DIGEST_FILE, digest, &err), -1);
	assert_string_equal(digest, "as before");
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_young_file_is_hashed_each_time),
		scratch_test(a_settled_file_is_remembered_until_it_changes),
		scratch_test(a_copy_is_known_by_its_source),
		scratch_test(a_damaged_cache_is_no_cache),
		scratch_test(the_longest_unused_are_forgotten),
		scratch_test(a_hasher_that_tells_none),
	};

	return cmocka_run_group_tests_name("store digests", tests, NULL, NULL);
}
