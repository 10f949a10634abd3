/* SPDX-License-Identifier: MIT */
/* Trees of files as streams: there and back, and what a hostile sender can say. */
#include "test_base.h"

#include <sys/stat.h>

#include "base/fd.h"
#include "base/tree_stream.h"
#include "base/tree_wire.h"

static void put_file(const struct scratch *s, const char *name, const char *text)
{
	struct error err = {0};

	assert_int_equal(
		path_replace_file_at(s->fd, name, text, strlen(text), 0640, PATH_NO_SYNC, &err), 0);
}

/* A stream in a file, positioned at its start. */
static int new_stream(void)
{
	struct error err;
	int fd = fd_memfd("stream", "", 0, &err);

	assert_true(fd >= 0);
	return fd;
}

static int receive(const struct scratch *s, int stream, const char *name, struct error *err)
{
	const struct tree_receiver receiver = {.links_stay_inside = true};
	struct tree_target target;
	int status;

	*err = (struct error){0};
	assert_int_equal(lseek(stream, 0, SEEK_SET), 0);
	if (tree_target_open(s->fd, name, false, "x", &target, err) < 0)
		return -1;
	status = tree_receive(stream, &target, &receiver, err);
	tree_target_close(&target);
	close(stream);
	return status;
}

static bool exists(const struct scratch *s, const char *name)
{
	struct stat st;

	return fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void there_and_back(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};
	struct stat st;
	int stream = new_stream();

	mkdirat(s->fd, "a", 0755);
	mkdirat(s->fd, "a/b", 0700);
	put_file(s, "a/b/file", "text");
	put_file(s, "a/empty", "");
	assert_int_equal(symlinkat("b/file", s->fd, "a/in"), 0);
	assert_int_equal(symlinkat("../x", s->fd, "a/out"), 0);
	assert_int_equal(tree_send(s->fd, "a", false, stream, &err), 0);
	assert_int_equal(receive(s, stream, "copy", &err), 0);
	assert_int_equal(fstatat(s->fd, "copy/b/file", &st, 0), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_true(exists(s, "copy/empty") && exists(s, "copy/in"));
	assert_false(exists(s, "copy/out"));

	/* One that is there is not merged into; a directory gets it under its name. */
	stream = new_stream();
	assert_int_equal(tree_send(s->fd, "a/b/file", true, stream, &err), 0);
	assert_int_equal(receive(s, stream, "copy", &err), 0);
	assert_true(exists(s, "copy/x"));
}

static void links_of_the_root_stay_in_it(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};
	int stream = new_stream();

	mkdirat(s->fd, "root", 0755);
	put_file(s, "secret", "outside");
	assert_int_equal(symlinkat("../secret", s->fd, "root/link"), 0);
	autoclose int root = openat(s->fd, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(tree_send(root, "/link", true, stream, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	/* The receiver hears of it and makes nothing. */
	assert_int_equal(receive(s, stream, "got", &err), -1);
	assert_false(exists(s, "got"));
}

static void put(int stream, enum tree_type type, const char *path, const char *text)
{
	assert_int_equal(tree_put_entry(stream, type, 0755, 0, path, text, NULL), 0);
	if (type == TREE_FILE)
		assert_int_equal(tree_put_length(stream, 0, NULL), 0);
}

static void hostile_entries(void **state)
{
	const struct scratch *s = *state;
	static const char *const paths[] = {"..", "../x", "a/../../x", "/x",	    "a//b",  "./x",
					    "a/", ".",	  "",	       "nowhere/x", "link/x"};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int stream = new_stream();

		put(stream, TREE_DIR, "", "");
		put(stream, TREE_DIR, "a", "");
		put(stream, TREE_LINK, "link", "a");
		put(stream, TREE_FILE, paths[i], "");
		put(stream, TREE_END, "", "");
		assert_int_equal(receive(s, stream, "got", &err), -1);
		assert_false(exists(s, "got"));
		assert_false(exists(s, "x"));
	}
}

static void hostile_links(void **state)
{
	const struct scratch *s = *state;
	static const struct {
		const char *path, *target;
		bool kept;
	} links[] = {
		{"l1", "a/b", true},	 {"l2", "..", false},	   {"l3", "/etc", false},
		{"l4", ".", true},	 {"l5", "./a/./b", true},  {"l6", "a/..", false},
		{"a/l7", "..", true},	 {"a/l8", "../..", false}, {"a/l9", "../a", true},
		{"a/m1", "../l1", true}, {"m2", "", false},	   {"m3", "a/../x", false},
		{"m4", "..a/b", true},
	};
	struct error err;
	int stream = new_stream();

	put(stream, TREE_DIR, "", "");
	put(stream, TREE_DIR, "a", "");
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		put(stream, TREE_LINK, links[i].path, links[i].target);
	put(stream, TREE_END, "", "");
	assert_int_equal(receive(s, stream, "got", &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		char path[64];

		snprintf(path, sizeof(path), "got/%s", links[i].path);
		if (exists(s, path) != links[i].kept)
			fail_msg("%s -> %s", links[i].path, links[i].target);
	}
}

static void broken_streams(void **state)
{
	const struct scratch *s = *state;
	struct error err;
	int stream = new_stream();

	assert_int_equal(receive(s, stream, "got", &err), -1); /* nothing at all */
	stream = new_stream();
	put(stream, TREE_DIR, "", "");
	put(stream, TREE_DIR, "a", "");
	assert_int_equal(receive(s, stream, "got", &err), -1); /* no end */
	stream = new_stream();
	assert_int_equal(tree_put_entry(stream, TREE_FILE, 0644, 0, "", "", NULL), 0);
	assert_int_equal(tree_put_length(stream, TREE_CHUNK + 1, NULL), 0);
	assert_int_equal(receive(s, stream, "got", &err), -1);
	stream = new_stream();
	put(stream, TREE_LINK, "", "/etc/passwd");
	assert_int_equal(receive(s, stream, "got", &err), -1);
	stream = new_stream();
	put(stream, TREE_DIR, "", "");
	put(stream, TREE_FILE, "twice", "");
	put(stream, TREE_FILE, "twice", "");
	assert_int_equal(receive(s, stream, "got", &err), -1);
	assert_false(exists(s, "got"));
	stream = new_stream();
	put(stream, TREE_ERROR, "", "no such thing");
	assert_int_equal(receive(s, stream, "got", &err), -1);
	assert_string_equal(err.msg, "no such thing");
}

static void targets(void **state)
{
	const struct scratch *s = *state;
	struct tree_target target;
	struct error err;

	put_file(s, "file", "old");
	assert_int_equal(symlinkat("file", s->fd, "link"), 0);
	assert_int_equal(symlinkat("gone", s->fd, "dangling"), 0);
	mkdirat(s->fd, "dir", 0755);
	assert_int_equal(tree_target_open(s->fd, "link", false, "n", &target, &err), -1);
	assert_code(err, ERR_CONFLICT);
	assert_int_equal(tree_target_open(s->fd, "dangling", false, "n", &target, &err), -1);
	assert_int_equal(tree_target_open(s->fd, "no/where", false, "n", &target, &err), -1);
	assert_int_equal(tree_target_open(s->fd, "dir", false, "..", &target, &err), -1);
	assert_int_equal(tree_target_open(s->fd, "dir", false, "a/b", &target, &err), -1);
	assert_ok(tree_target_open(s->fd, "file", false, "n", &target, &err));
	assert_string_equal(target.name, "file");
	tree_target_close(&target);
	assert_ok(tree_target_open(s->fd, "dir", false, "n", &target, &err));
	assert_string_equal(target.name, "n");
	tree_target_close(&target);
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(there_and_back),  scratch_test(links_of_the_root_stay_in_it),
		scratch_test(hostile_entries), scratch_test(hostile_links),
		scratch_test(broken_streams),  scratch_test(targets),
	};

	return cmocka_run_group_tests_name("trees as streams", tests, NULL, NULL);
}
