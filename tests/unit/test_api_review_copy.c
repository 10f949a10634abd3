/* SPDX-License-Identifier: MIT */
/* Tests that the files of reviewed directories are copied only if they are those that were recorded,
 * and that no link is followed. */
#include "test_base.h"

#include <sys/stat.h>

#include "api/api.h"
#include "base/json.h"

/* The digests of "disk" and of "list". */
#define DISK "1044dec7206e8d7c9fbb4ae8f766668406d2567fc7fc1a160a9d4700fcf8f8e9"
#define LIST "a330395cc0a53ad1207736546afff4735940937564bbf75ce1edad40780d9139"
#define UPPER "0123456789abcdef0123456789abcdef"

static void put(int dir, const char *name, const char *text, mode_t mode)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static bool has(int dir, const char *name, const char *text)
{
	char found[64] = "";
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return false;
	assert_true(read(fd, found, sizeof(found) - 1) >= 0);
	close(fd);
	return strcmp(found, text) == 0;
}

struct places {
	int from, to;
};

/* Makes a directory with the files of a review, an empty one, and a hasher. */
static struct places make_places(const struct scratch *s)
{
	struct places places;
	char path[256];

	put(s->fd, "microagent-artifact", "#!/bin/sh\nexec sha256sum <&3\n", 0700);
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", s->path);
	setenv("PATH", path, 1);
	setenv("MICROAGENT_CACHE_DIR", scratch_path(s, "cache"), 1);
	assert_int_equal(mkdirat(s->fd, "from", 0700), 0);
	assert_int_equal(mkdirat(s->fd, "to", 0700), 0);
	places.from = openat(s->fd, "from", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	places.to = openat(s->fd, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(places.from, "bundle-r.ext4", "disk", 0600);
	put(places.from, "bundle-r.list", "list", 0600);
	return places;
}

static void close_places(const struct places *places)
{
	close(places->from);
	close(places->to);
}

static json_t *description(void)
{
	return json_pack("[{s:s, s:s, s:s, s:s}]", "name", "r", "upper", UPPER, "sha256", LIST,
			 "diskSHA256", DISK);
}

static void what_was_recorded_is_copied(void **state)
{
	struct places places = make_places(*state);
	json_auto_t *reviews = description();
	struct stat from, to;
	struct error err = {0};

	assert_int_equal(reviews_require(reviews, places.from, &err), 0);
	assert_int_equal(reviews_copy(reviews, places.from, places.to, STORE_SYNC, &err), 0);
	assert_true(has(places.to, "bundle-r.ext4", "disk"));
	assert_true(has(places.to, "bundle-r.list", "list"));
	assert_true(has(places.to, "bundle-r.upper", UPPER "\n"));
	assert_int_equal(fstatat(places.from, "bundle-r.ext4", &from, 0), 0);
	assert_int_equal(fstatat(places.to, "bundle-r.ext4", &to, 0), 0);
	assert_true(from.st_ino != to.st_ino);
	/* They are moved over what is there. */
	put(places.from, "bundle-r.list", "of another image", 0600);
	assert_int_equal(reviews_move(reviews, places.to, places.from, &err), 0);
	assert_true(has(places.from, "bundle-r.list", "list"));
	assert_true(has(places.from, "bundle-r.upper", UPPER "\n"));
	assert_false(has(places.to, "bundle-r.list", "list"));
	assert_int_equal(reviews_move(NULL, places.to, places.from, &err), 0);
	close_places(&places);
}

static void what_was_changed_is_not_copied(void **state)
{
	static const char *const files[] = {"bundle-r.ext4", "bundle-r.list"};
	struct places places = make_places(*state);
	json_auto_t *reviews = description();

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct error err = {0};

		put(places.from, files[i], "xxxx", 0600);
		assert_int_equal(reviews_require(reviews, places.from, &err), -1);
		assert_int_equal(err.code, ERR_CONFLICT);
		assert_non_null(strstr(err.msg, files[i]));
		assert_int_equal(reviews_copy(reviews, places.from, places.to, STORE_NO_SYNC, &err),
				 -1);
		assert_int_equal(err.code, ERR_CONFLICT);
		assert_int_equal(path_remove_tree_at(places.to, files[0], &err), 0);
		assert_int_equal(path_remove_tree_at(places.to, files[1], &err), 0);
		put(places.from, files[i], i ? "list" : "disk", 0600);
	}
	close_places(&places);
}

/* A live supervisor that was taken over may put anything in the place of a file. */
static void no_link_is_followed(void **state)
{
	struct places places = make_places(*state);
	json_auto_t *reviews = description();
	struct error err = {0};

	assert_int_equal(renameat(places.from, "bundle-r.list", places.from, "elsewhere"), 0);
	assert_int_equal(symlinkat("elsewhere", places.from, "bundle-r.list"), 0);
	assert_int_equal(reviews_require(reviews, places.from, &err), -1);
	assert_int_equal(reviews_copy(reviews, places.from, places.to, STORE_NO_SYNC, &err), -1);
	assert_int_equal(unlinkat(places.from, "bundle-r.list", 0), 0);
	/* A missing file is nothing that could be recorded, but it cannot be copied. */
	assert_int_equal(reviews_require(reviews, places.from, &err), 0);
	assert_int_equal(path_remove_tree_at(places.to, "bundle-r.ext4", &err), 0);
	assert_int_equal(reviews_copy(reviews, places.from, places.to, STORE_NO_SYNC, &err), -1);
	/* A FIFO that nobody writes to is not waited for. */
	assert_int_equal(mkfifoat(places.from, "bundle-r.list", 0600), 0);
	assert_int_equal(reviews_require(reviews, places.from, &err), -1);
	close_places(&places);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_recorded_is_copied),
		TEST(what_was_changed_is_not_copied),
		TEST(no_link_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
