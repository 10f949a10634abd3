/* SPDX-License-Identifier: MIT */
/* Tests trees of files as streams: there and back, and what a hostile sender can send. */
#include "test_base.h"

#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/frame.h"
#include "base/tree/tree_stream.h"
#include "base/tree/tree_wire.h"

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

static int send_tree(int root, const char *path, bool confined, int stream, struct error *err)
{
	const struct tree_line line = {.fd = stream, .cancel = -1};

	*err = (struct error){0};
	return tree_send(root, path, confined, &line, err);
}

/* Requires that nothing under a temporary name is left. */
static void assert_no_temporary(const struct scratch *s)
{
	autodir DIR *dir = fdopendir(openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (strncmp(entry->d_name, ".microagent", 11) == 0)
			fail_msg("left: %s", entry->d_name);
}

/* The stream is said to be of "/src". */
static int receive(const struct scratch *s, int stream, const char *name, struct error *err)
{
	const struct tree_line line = {.fd = stream, .cancel = -1};
	struct tree_target target;
	int status;

	*err = (struct error){0};
	assert_int_equal(lseek(stream, 0, SEEK_SET), 0);
	if (tree_target_open(s->fd, name, false, "x", &target, err) < 0)
		return -1;
	status = tree_receive(&line, &target, "/src", err);
	tree_target_close(&target);
	close(stream);
	assert_no_temporary(s);
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
	assert_int_equal(send_tree(s->fd, "a", false, stream, &err), 0);
	assert_int_equal(receive(s, stream, "copy", &err), 0);
	assert_int_equal(fstatat(s->fd, "copy/b/file", &st, 0), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_true(exists(s, "copy/empty") && exists(s, "copy/in"));
	assert_false(exists(s, "copy/out"));

	/* An existing directory is not merged with the copy: the copy gets its own name in it. */
	stream = new_stream();
	assert_int_equal(send_tree(s->fd, "a/b/file", true, stream, &err), 0);
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
	assert_int_equal(send_tree(root, "/link", true, stream, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	/* The receiver hears of it and makes nothing. */
	assert_int_equal(receive(s, stream, "got", &err), -1);
	assert_false(exists(s, "got"));
}

/* --- streams of a sender that is hostile
 * ---------------------------------------------------------- */

static struct tree_writer *writer_to(int stream)
{
	static _Thread_local struct tree_writer w;

	w = (struct tree_writer){.fd = stream, .cancel = -1};
	return &w;
}

static void put_entry(int stream, const struct tree_entry *entry)
{
	struct tree_writer *w = writer_to(stream);

	assert_int_equal(tree_put_entry(w, entry, NULL), 0);
	assert_int_equal(tree_flush(w, NULL), 0);
}

static void put_bytes(int stream, const void *bytes, size_t len)
{
	assert_int_equal(write(stream, bytes, len), len);
}

static void put_chunk_head(int stream, char kind, uint64_t length)
{
	uint8_t head[TREE_CHUNK_HEAD] = {(uint8_t)kind};

	be64_put(head + 1, length);
	put_bytes(stream, head, sizeof(head));
}

static void put_empty(int stream)
{
	struct tree_digest *digest = tree_digest_new();
	struct tree_writer *w = writer_to(stream);

	tree_digest_begin(digest);
	assert_int_equal(tree_put_file_end(w, 0, digest, NULL), 0);
	assert_int_equal(tree_flush(w, NULL), 0);
	tree_digest_free(digest);
}

static void put(int stream, enum tree_type type, const char *path, const char *text)
{
	struct tree_entry entry = {.type = type, .mode = 0755};

	snprintf(entry.path, sizeof(entry.path), "%s", path);
	snprintf(entry.text, sizeof(entry.text), "%s", text);
	put_entry(stream, &entry);
	if (type == TREE_FILE)
		put_empty(stream);
}

/* On either side. Nothing is left of files above the limit. */
static void a_limit_is_kept(void **state)
{
	static const struct {
		uint64_t limit;
		bool fits;
	} rows[] = {{8 + TREE_ENTRY_BYTES, true},
		    {7 + TREE_ENTRY_BYTES, false},
		    {TREE_ENTRY_BYTES - 1, false},
		    {1, false},
		    {0, true}};
	const struct scratch *s = *state;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		struct tree_line from = {.cancel = -1}, to = {.cancel = -1};
		struct tree_target target = {.dir = s->fd, .name = "limited"};
		bool sending = i >= ARRAY_SIZE(rows), fits = rows[i % ARRAY_SIZE(rows)].fits;
		struct error err = {0};
		int stream = new_stream();

		from.fd = to.fd = stream;
		*(sending ? &to.limit : &from.limit) = rows[i % ARRAY_SIZE(rows)].limit;
		if (i == 0) {
			mkdirat(s->fd, "l", 0755);
			put_file(s, "l/file", "8 bytes.");
		}
		assert_int_equal(tree_send(s->fd, "l", false, &to, &err),
				 fits || !sending ? 0 : -1);
		lseek(stream, 0, SEEK_SET);
		assert_int_equal(tree_receive(&from, &target, NULL, &err), fits ? 0 : -1);
		assert_true(fits || strstr(err.msg, "larger than the limit of "));
		assert_int_equal(exists(s, "limited"), fits);
		assert_no_temporary(s);
		close(stream);
		path_remove_tree_at(s->fd, "limited", NULL);
	}
}

/* Files that are left out count too, and a directory ends once. */
static void what_costs_its_sender_nothing_ends(void **state)
{
	static const enum tree_type types[] = {TREE_SKIPPED, TREE_DIR_END};
	const struct scratch *s = *state;
	struct tree_target target = {.dir = s->fd, .name = "got"};

	for (int i = 0; i < 2; i++) {
		struct tree_line line = {.cancel = -1, .limit = 10 * TREE_ENTRY_BYTES};
		struct error err;

		line.fd = new_stream();
		put(line.fd, TREE_DIR, "", "");
		for (int j = 0; j < 11; j++)
			put(line.fd, types[i], "", "why");
		put(line.fd, TREE_END, "", "");
		lseek(line.fd, 0, SEEK_SET);
		assert_int_equal(tree_receive(&line, &target, NULL, &err), -1);
		assert_non_null(strstr(err.msg, i == 0 ? "larger than the limit of " : "damaged"));
		assert_false(exists(s, "got"));
		close(line.fd);
	}
}

/* A tree that ends before each of its directories ended is not put in its place. */
static void an_open_directory_is_no_end(void **state)
{
	const struct scratch *s = *state;
	struct tree_target target = {.dir = s->fd, .name = "open"};

	for (int ends = 0; ends <= 2; ends++) {
		struct tree_line line = {.cancel = -1};
		struct error err = {0};

		line.fd = new_stream();
		put(line.fd, TREE_DIR, "", "");
		put(line.fd, TREE_DIR, "a", "");
		for (int i = 0; i < ends; i++)
			put(line.fd, TREE_DIR_END, i == 0 ? "a" : "", "");
		put(line.fd, TREE_END, "", "");
		lseek(line.fd, 0, SEEK_SET);
		assert_int_equal(tree_receive(&line, &target, NULL, &err), ends == 2 ? 0 : -1);
		assert_int_equal(strstr(err.msg, "damaged") != NULL, ends < 2);
		assert_int_equal(exists(s, "open"), ends == 2);
		assert_no_temporary(s);
		close(line.fd);
	}
}

static void the_umask_holds(void **state)
{
	const struct scratch *s = *state;
	struct tree_line line = {.cancel = -1, .umask = 027};
	struct tree_target target = {.dir = s->fd, .name = "masked"};
	struct error err = {0};
	struct stat st;

	line.fd = new_stream();
	put_entry(line.fd, &(struct tree_entry){.type = TREE_DIR});
	put_entry(line.fd, &(struct tree_entry){.type = TREE_FILE, .path = "f", .mode = 06777});
	put_empty(line.fd);
	put_entry(line.fd, &(struct tree_entry){.type = TREE_DIR_END, .mode = 01777});
	put(line.fd, TREE_END, "", "");
	lseek(line.fd, 0, SEEK_SET);
	assert_int_equal(tree_receive(&line, &target, NULL, &err), 0);
	assert_int_equal(fstatat(s->fd, "masked/f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(fstatat(s->fd, "masked", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	close(line.fd);
}

/* --- what killed receivers left --------------------------------------------------------------- */

#define MAKER "0123456789abcdef"
#define LEFT ".microagent-" MAKER "-0000000000000001"

static int receive_by(const struct scratch *s, const char *maker, const char *name)
{
	const struct tree_line line = {.fd = new_stream(), .cancel = -1, .maker = maker};
	struct tree_target target = {.dir = s->fd};
	struct error err = {0};
	int status;

	snprintf(target.name, sizeof(target.name), "%s", name);
	put(line.fd, TREE_DIR, "", "");
	put_entry(line.fd, &(struct tree_entry){.type = TREE_FILE, .path = "f", .mode = 0600});
	put_empty(line.fd);
	put_entry(line.fd, &(struct tree_entry){.type = TREE_DIR_END, .mode = 0700});
	put(line.fd, TREE_END, "", "");
	lseek(line.fd, 0, SEEK_SET);
	status = tree_receive(&line, &target, NULL, &err);
	close(line.fd);
	return status;
}

static void leave(const struct scratch *s, const char *name)
{
	assert_int_equal(mkdirat(s->fd, name, 0700), 0);
	autoclose int dir = openat(s->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(dir, "below", 0700), 0);
}

static void what_was_left_goes(void **state)
{
	const struct scratch *s = *state;
	/* Names of another maker, and names that only look like ours. */
	static const char *const others[] = {".microagent-fedcba9876543210-0000000000000001",
					     ".microagent-0000000000000001", LEFT "0",
					     ".microagent-" MAKER "-000000000000000g", "x" LEFT};

	leave(s, LEFT);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		leave(s, others[i]);
	assert_int_equal(receive_by(s, NULL, "one"), 0);
	assert_true(exists(s, LEFT));
	assert_int_equal(receive_by(s, MAKER, "two"), 0);
	assert_false(exists(s, LEFT));
	assert_true(exists(s, "two/f"));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_true(exists(s, others[i]));

	leave(s, LEFT);
	autoclose int theirs = openat(s->fd, LEFT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(theirs, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(receive_by(s, MAKER, "three"), 0);
	assert_true(exists(s, LEFT "/below"));
	assert_int_equal(flock(theirs, LOCK_UN), 0);
	/* Also where the copy itself fails. */
	assert_int_equal(receive_by(s, MAKER, "three"), -1);
	assert_false(exists(s, LEFT));
}

#define COPIERS 6

struct copier {
	const struct scratch *scratch;
	int number;
};

static void *copy_again_and_again(void *data)
{
	const struct copier *c = data;
	char name[32];

	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "%d-%d", c->number, i);
		if (receive_by(c->scratch, MAKER, name) < 0)
			return data;
	}
	return NULL;
}

/* No receiver takes the root of another live receiver for one that was left. */
static void many_receive_at_once(void **state)
{
	struct copier copiers[COPIERS];
	pthread_t threads[COPIERS];
	int failures = 0;
	void *failed;

	for (int i = 0; i < COPIERS; i++) {
		copiers[i] = (struct copier){*state, i};
		assert_int_equal(
			pthread_create(&threads[i], NULL, copy_again_and_again, &copiers[i]), 0);
	}
	for (int i = 0; i < COPIERS; i++) {
		pthread_join(threads[i], &failed);
		failures += failed != NULL;
	}
	assert_int_equal(failures, 0);
	assert_no_temporary(*state);
}

/* --- a file that is open ---------------------------------------------------------------------- */

static void a_file_without_a_name(void **state)
{
	const struct scratch *s = *state;
	autoclose int file = openat(s->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct tree_target target = {.dir = -1, .file = file, .name = "f"};
	struct tree_line line = {.cancel = -1, .fd = new_stream()};
	struct error err = {0};
	char got[8] = "";

	put_file(s, "source", "seven b");
	assert_int_equal(tree_send(s->fd, "source", false, &line, &err), 0);
	lseek(line.fd, 0, SEEK_SET);
	assert_int_equal(tree_receive(&line, &target, NULL, &err), 0);
	assert_int_equal(pread(file, got, sizeof(got), 0), 7);
	assert_string_equal(got, "seven b");
	close(line.fd);

	line.fd = new_stream();
	put(line.fd, TREE_DIR, "", "");
	lseek(line.fd, 0, SEEK_SET);
	assert_int_equal(tree_receive(&line, &target, NULL, &err), -1);
	assert_string_equal(err.msg, "f is a directory, not a file: name a file");
	close(line.fd);
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
		{"l1", "a/b", true},	  {"l2", "..", false},	   {"l3", "/etc", false},
		{"n1", "/src/a", true},	  {"n2", "/srcs", false},  {"n3", "/src/../x", false},
		{"a/n4", "/src", true},	  {"n5", "/", false},	   {"l4", ".", true},
		{"l5", "./a/./b", true},  {"l6", "a/..", false},   {"a/l7", "..", true},
		{"a/l8", "../..", false}, {"a/l9", "../a", true},  {"a/m1", "../l1", true},
		{"m2", "", false},	  {"m3", "a/../x", false}, {"m4", "..a/b", true},
	};
	struct error err;
	int stream = new_stream();

	put(stream, TREE_DIR, "", "");
	put(stream, TREE_DIR, "a", "");
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		put(stream, TREE_LINK, links[i].path, links[i].target);
	put(stream, TREE_DIR_END, "a", "");
	put(stream, TREE_DIR_END, "", "");
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
	put_entry(stream, &(struct tree_entry){.type = TREE_FILE});
	put_chunk_head(stream, TREE_DATA, TREE_CHUNK + 1);
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

static void times_holes_and_names(void **state)
{
	const struct scratch *s = *state;
	const struct timespec old[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = -7, .tv_nsec = 89}};
	struct stat a, b, c;
	struct error err;
	int stream = new_stream();

	mkdirat(s->fd, "a", 0755);
	put_file(s, "a/file", "0123");
	autoclose int sparse = openat(s->fd, "a/sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(pwrite(sparse, "data", 4, 1 << 24), 4);
	assert_int_equal(ftruncate(sparse, 1 << 26), 0);
	assert_int_equal(linkat(s->fd, "a/file", s->fd, "a/again", 0), 0);
	assert_int_equal(symlinkat("file", s->fd, "a/link"), 0);
	assert_int_equal(utimensat(s->fd, "a/link", old, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(fchmodat(s->fd, "a/file", 0400, 0), 0);
	assert_int_equal(utimensat(s->fd, "a/file", old, 0), 0);
	assert_int_equal(fchmodat(s->fd, "a", 0550, 0), 0);
	assert_int_equal(utimensat(s->fd, "a", old, 0), 0);
	assert_ok(send_tree(s->fd, "a", false, stream, &err));
	assert_true(lseek(stream, 0, SEEK_END) < 1 << 20);
	assert_ok(receive(s, stream, "copy", &err));
	assert_int_equal(fstatat(s->fd, "copy", &a, 0), 0);
	assert_int_equal(fstatat(s->fd, "copy/file", &b, 0), 0);
	assert_int_equal(fstatat(s->fd, "copy/again", &c, 0), 0);
	assert_true(a.st_mtim.tv_sec == -7 && a.st_mtim.tv_nsec == 89 &&
		    (a.st_mode & 0777) == 0550);
	assert_true(b.st_mtim.tv_sec == -7 && b.st_mtim.tv_nsec == 89 &&
		    (b.st_mode & 0777) == 0400);
	assert_true(b.st_ino == c.st_ino && b.st_nlink == 2);
	assert_int_equal(fstatat(s->fd, "copy/link", &a, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(a.st_mtim.tv_sec == -7);
	assert_int_equal(fstatat(s->fd, "copy/sparse", &b, 0), 0);
	assert_int_equal(b.st_size, 1 << 26);
	assert_true(b.st_blocks * 512 < 1 << 20);
	assert_int_equal(fchmodat(s->fd, "a", 0755, 0), 0);
	assert_int_equal(fchmodat(s->fd, "copy", 0755, 0), 0);
}

/* Changes one bit of a file's contents, anywhere on its way. */
static void a_digest_is_compared(void **state)
{
	const struct scratch *s = *state;
	struct error err;
	char byte = 0;

	put_file(s, "file", "some text");
	for (off_t i = 0; i < 9; i++) {
		int stream = new_stream();
		off_t at;

		assert_ok(send_tree(s->fd, "file", false, stream, &err));
		/* in front of 'E' with length and digest, and of 'z' */
		at = lseek(stream, 0, SEEK_END) - 33 - 17 - 9 + i;
		assert_int_equal(pread(stream, &byte, 1, at), 1);
		assert_int_equal(byte, "some text"[i]);
		byte ^= 4;
		assert_int_equal(pwrite(stream, &byte, 1, at), 1);
		assert_int_equal(receive(s, stream, "got", &err), -1);
		assert_code(err, ERR_IO);
		assert_non_null(strstr(err.msg, "digest"));
		assert_false(exists(s, "got"));
	}
}

static void hostile_chunks(void **state)
{
	const struct scratch *s = *state;
	static const struct {
		char kind;
		uint64_t length;
	} chunks[] = {{TREE_HOLE, UINT64_MAX}, {TREE_HOLE, INT64_MAX}, {TREE_DATA, 1ull << 32},
		      {TREE_DATA, UINT64_MAX}, {TREE_FILE_END, 1},     {'?', 0},
		      {TREE_HOLE, 0},	       {TREE_DATA, 0}};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++) {
		int stream = new_stream();

		put(stream, TREE_DIR, "", "");
		put_entry(stream, &(struct tree_entry){.type = TREE_FILE, .path = "f"});
		put_chunk_head(stream, TREE_HOLE, 1);
		put_chunk_head(stream, chunks[i].kind, chunks[i].length);
		put_bytes(stream, "\0\0\0\0\0\0\0\0", 8);
		assert_int_equal(receive(s, stream, "got", &err), -1);
		assert_false(exists(s, "got"));
	}
}

static void hostile_hard_links(void **state)
{
	const struct scratch *s = *state;
	static const char *const targets[] = {"",  "/etc/passwd", "../secret", "l",
					      "d", "none",	  "l/x",       "."};
	struct error err;

	put_file(s, "secret", "outside");
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		int stream = new_stream();

		put(stream, TREE_DIR, "", "");
		put(stream, TREE_DIR, "d", "");
		put(stream, TREE_LINK, "l", "d");
		put(stream, TREE_HARD_LINK, "h", targets[i]);
		put(stream, TREE_END, "", "");
		assert_int_equal(receive(s, stream, "got", &err), -1);
		assert_false(exists(s, "got"));
	}
}

/* As many levels as a path can have, and a directory that says too early that it is whole. */
static void deep_and_locked(void **state)
{
	const struct scratch *s = *state;
	char path[TREE_PATH_MAX + 1] = "";
	struct error err;
	int stream = new_stream();

	put(stream, TREE_DIR, "", "");
	for (int i = 0; i < 2000; i++) {
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "%sd", i ? "/" : "");
		put(stream, TREE_DIR, path, "");
	}
	put(stream, TREE_END, "", "");
	assert_int_equal(receive(s, stream, "got", &err), -1);
	assert_false(exists(s, "got"));
	stream = new_stream();
	put(stream, TREE_DIR, "", "");
	put(stream, TREE_DIR, "d", "");
	put_entry(stream, &(struct tree_entry){.type = TREE_DIR_END, .path = "d"});
	put_entry(stream, &(struct tree_entry){.type = TREE_DIR_END});
	put(stream, TREE_ERROR, "", "enough");
	assert_int_equal(receive(s, stream, "got", &err), -1);
	assert_false(exists(s, "got"));
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(there_and_back),
		scratch_test(links_of_the_root_stay_in_it),
		scratch_test(a_limit_is_kept),
		scratch_test(the_umask_holds),
		scratch_test(what_was_left_goes),
		scratch_test(many_receive_at_once),
		scratch_test(a_file_without_a_name),
		scratch_test(what_costs_its_sender_nothing_ends),
		scratch_test(an_open_directory_is_no_end),
		scratch_test(hostile_entries),
		scratch_test(hostile_links),
		scratch_test(broken_streams),
		scratch_test(times_holes_and_names),
		scratch_test(a_digest_is_compared),
		scratch_test(hostile_chunks),
		scratch_test(hostile_hard_links),
		scratch_test(deep_and_locked),
	};

	return cmocka_run_group_tests_name("trees as streams", tests, NULL, NULL);
}
