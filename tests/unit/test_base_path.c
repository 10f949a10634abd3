/* SPDX-License-Identifier: MIT */
#include "test_base_path.h"

static void joins(void **state)
{
	static const char *const rows[][3] = {
		{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a", "/b", "/b"}, {"", "b", "b"},
		{"a", "", "a"},	   {"/", "b", "/b"},   {"", "", ""},	  {"/a", "b/c", "/a/b/c"},
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		autofree char *joined = path_join(rows[i][0], rows[i][1], &err);
		assert_string_equal(joined, rows[i][2]);
	}
}

static void absolute_paths_are_cleaned(void **state)
{
	static const char *const rows[][2] = {
		{"/", "/"},
		{"//", "/"},
		{"/a//b/./c/", "/a/b/c"},
		{"/./.", "/"},
		{"/a/../b", "/a/../b"},
		{"/a/.b/..c/...", "/a/.b/..c/..."},
		{"/a/.", "/a"},
	};
	const struct scratch *s = *state;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		autofree char *path = path_absolute(rows[i][0], &err);
		assert_string_equal(path, rows[i][1]);
	}
	assert_null(path_absolute("", &err));
	assert_code(err, ERR_INVALID);

	autoclose int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fchdir(s->fd), 0);
	autofree char *relative = path_absolute("./x//y/", &err);
	autofree char *dot = path_absolute(".", &err);
	assert_int_equal(fchdir(before), 0);
	autofree char *want = path_join(s->path, "x/y", &err);
	assert_string_equal(relative, want);
	assert_string_equal(dot, s->path);
}

static void is_below(void **state)
{
	(void)state;
	assert_true(path_is_below("/a", "/a"));
	assert_true(path_is_below("/a/b/c", "/a"));
	assert_true(path_is_below("/a", "/"));
	assert_true(path_is_below("/", "/"));
	assert_false(path_is_below("/ab", "/a"));
	assert_false(path_is_below("/a", "/a/b"));
	assert_false(path_is_below("/", "/a"));
}

static void safe_names(void **state)
{
	static const char *const good[] = {"a", "...", ".a", "a b", "\xc3\xa9", "-", "a..b"};
	static const char *const bad[] = {"",	"/",   ".",    "..",   "a/b",  "a\\b",
					  "\n", "a\t", "\x7f", "\x1b", "a/..", "/a"};
	char name[130];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(path_is_safe_basename(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(path_is_safe_basename(bad[i]));
	memset(name, 'n', sizeof(name));
	name[128] = '\0';
	assert_true(path_is_safe_basename(name));
	name[128] = 'n';
	name[129] = '\0';
	assert_false(path_is_safe_basename(name));
}

static void finds_its_own_executable(void **state)
{
	struct error err;
	autofree char *dir = path_of_executable_dir(&err);
	autoclose int fd = path_open_dir(dir, &err);
	struct stat mine, there;

	(void)state;
	assert_int_equal(stat("/proc/self/exe", &mine), 0);
	assert_int_equal(fstatat(fd, program_invocation_short_name, &there, 0), 0);
	assert_true(mine.st_ino == there.st_ino);
}

static void directories_are_made_with_parents(void **state)
{
	const struct scratch *s = *state;
	autofree char *path = NULL, *slashes = NULL, *through = NULL;
	struct error err;
	struct stat st;

	assert_true(asprintf(&path, "%s/a/%0200d/%0200d", s->path, 0, 0) > 400);
	autoclose int fd = path_open_dir(path, &err);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	autoclose int again = path_open_dir(path, &err);
	assert_true(again >= 0);
	assert_true(asprintf(&slashes, "%s//b///c//", s->path) > 0);
	assert_ok(path_make_dirs(slashes, 0750, &err));
	assert_ok(path_make_dirs(slashes, 0750, &err));
	assert_true(exists(s->fd, "b/c"));
	assert_ok(path_make_dirs("/", 0700, &err));
	write_file(s->fd, "file", "");
	assert_true(asprintf(&through, "%s/file/x", s->path) > 0);
	assert_int_equal(path_open_dir(through, &err), -1);
	assert_int_equal(err.errnum, ENOTDIR);
	assert_int_equal(path_make_dirs("", 0700, &err), -1);
}

static void open_dir_at_makes_only_when_told(void **state)
{
	const struct scratch *s = *state;
	struct error err;
	struct stat st;

	assert_int_equal(path_open_dir_at(s->fd, "d", false, 0700, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	autoclose int made = path_open_dir_at(s->fd, "d", true, 0700, &err);
	autoclose int again = path_open_dir_at(s->fd, "d", true, 0700, &err);
	assert_true(made >= 0 && again >= 0);
	assert_int_equal(fstat(made, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(symlinkat("d", s->fd, "link"), 0);
	assert_int_equal(path_open_dir_at(s->fd, "link", true, 0700, &err), -1);
	write_file(s->fd, "file", "");
	assert_int_equal(path_open_dir_at(s->fd, "file", true, 0700, &err), -1);
}

static void reads_regular_files_only(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf b = BUF_INIT(5);
	struct error err;

	write_file(s->fd, "file", "12345");
	assert_ok(path_read_file_at(s->fd, "file", &b, &err));
	assert_string_equal(buf_string(&b), "12345");
	buf_free(&b);
	write_file(s->fd, "large", "123456");
	assert_int_equal(path_read_file_at(s->fd, "large", &b, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_memory_equal(err.msg, "large: ", 7);
	assert_int_equal(symlinkat("file", s->fd, "link"), 0);
	assert_int_equal(mkfifoat(s->fd, "fifo", 0600), 0);
	assert_int_equal(mkdirat(s->fd, "dir", 0700), 0);
	static const char *const names[] = {"link", "fifo", "dir"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(path_read_file_at(s->fd, names[i], &b, &err), -1);
		assert_code(err, ERR_INVALID);
		assert_int_equal(b.len, 0);
	}
	assert_int_equal(path_read_file_at(s->fd, "none", &b, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
}

static void replaces_with_mode(void **state)
{
	const struct scratch *s = *state;
	mode_t before = umask(0077);
	struct error err;
	struct stat st;

	assert_ok(path_replace_file_at(s->fd, "f", "one", 3, 0644, PATH_NO_SYNC, &err));
	umask(before);
	assert_int_equal(fstatat(s->fd, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	autoclose int old = openat(s->fd, "f", O_RDONLY | O_CLOEXEC);
	assert_ok(path_replace_file_at(s->fd, "f", "second", 6, 0400, PATH_SYNC, &err));
	assert_content(s->fd, "f", "second");
	autobuf struct buf b = BUF_INIT(0);
	assert_ok(fd_read_to_end(old, &b, &err));
	assert_string_equal(buf_string(&b), "one"); /* a reader that had it open sees the old
						     * one, whole */
	assert_ok(path_replace_file_at(s->fd, "f", NULL, 0, 0600, PATH_SYNC, &err));
	assert_content(s->fd, "f", "");
	assert_int_equal(count_entries(s->fd), 1);
}

static void replaces_in_a_subdirectory(void **state)
{
	const struct scratch *s = *state;
	autofree char *path = NULL;
	struct error err;

	assert_int_equal(mkdirat(s->fd, "sub", 0700), 0);
	assert_ok(path_replace_file_at(s->fd, "sub/f", "x", 1, 0600, PATH_SYNC, &err));
	assert_content(s->fd, "sub/f", "x");
	assert_true(asprintf(&path, "%s/g", s->path) > 0);
	assert_ok(path_replace_file_at(AT_FDCWD, path, "y", 1, 0600, PATH_SYNC, &err));
	assert_content(s->fd, "g", "y");
	assert_int_equal(path_replace_file_at(s->fd, "none/f", "x", 1, 0600, PATH_SYNC, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	autoclose int handle = open(s->path, O_PATH | O_CLOEXEC);
	assert_ok(path_replace_file_at(handle, "h", "z", 1, 0600, PATH_SYNC, &err));
	assert_int_equal(count_entries(s->fd), 3);
}

/* A link in the file's place is replaced, its target left alone. */
static void replace_does_not_follow_links(void **state)
{
	const struct scratch *s = *state;
	struct error err;

	write_file(s->fd, "target", "kept");
	assert_int_equal(symlinkat("target", s->fd, "f"), 0);
	assert_ok(path_replace_file_at(s->fd, "f", "new", 3, 0600, PATH_NO_SYNC, &err));
	assert_content(s->fd, "target", "kept");
	assert_content(s->fd, "f", "new");
}

static void failed_replace_leaves_no_trace(void **state)
{
	const struct scratch *s = *state;
	char name[300];
	struct error err;

	assert_int_equal(mkdirat(s->fd, "dir", 0700), 0);
	assert_int_equal(path_replace_file_at(s->fd, "dir", "x", 1, 0600, PATH_SYNC, &err), -1);
	assert_memory_equal(err.msg, "write dir: ", 11);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(path_replace_file_at(s->fd, name, "x", 1, 0600, PATH_SYNC, &err), -1);
	assert_int_equal(err.errnum, ENAMETOOLONG);
	name[255] = '\0'; /* the longest name there is leaves no room for a suffix */
	assert_ok(path_replace_file_at(s->fd, name, "x", 1, 0600, PATH_NO_SYNC, &err));
	assert_int_equal(count_entries(s->fd), 2);
}

static int replace_beyond_the_limit(const struct scratch *s)
{
	static char data[100000];
	struct rlimit limit = {.rlim_cur = 50000, .rlim_max = 50000};
	struct error err = {0};

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
		return 1;
	if (path_replace_file_at(s->fd, "f", data, sizeof(data), 0600, PATH_SYNC, &err) == 0)
		return 2;
	if (err.errnum != EFBIG)
		return 3;
	return path_replace_file_at(s->fd, "g", data, 50000, 0600, PATH_SYNC, &err) == 0 ? 0 : 4;
}

static void file_size_limit_keeps_the_old_file(void **state)
{
	const struct scratch *s = *state;

	write_file(s->fd, "f", "old");
	assert_int_equal(in_child(replace_beyond_the_limit, s), 0);
	assert_content(s->fd, "f", "old");
	assert_int_equal(count_entries(s->fd), 2);
}

/* 77: this machine gives an ordinary user no namespaces. */
static int replace_on_a_full_disk(const struct scratch *s)
{
	static char data[65536];
	struct error err = {0};

	if (!enter_mount_namespace() || mount("tmpfs", s->path, "tmpfs", 0, "size=64k") < 0)
		return 77;
	autoclose int dir = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (path_replace_file_at(dir, "f", "old", 3, 0600, PATH_SYNC, &err) < 0)
		return 1;
	if (path_replace_file_at(dir, "f", data, sizeof(data), 0600, PATH_SYNC, &err) == 0)
		return 2;
	if (err.errnum != ENOSPC || count_entries(dir) != 1)
		return 3;
	autobuf struct buf b = BUF_INIT(0);
	if (path_read_file_at(dir, "f", &b, &err) < 0 || strcmp(buf_string(&b), "old") != 0)
		return 4;
	autoclose int from = fd_memfd("data", data, sizeof(data), &err);
	if (path_clone_file_at(from, dir, "copy", 0600, NULL, &err) == 0 || err.errnum != ENOSPC)
		return 5;
	if (path_clone_with_room_at(from, dir, "copy", 0600, 0, &err) == 0 ||
	    err.code != ERR_UNAVAILABLE || !strstr(err.msg, "bytes are free, but 65536 are needed"))
		return 8;
	if (count_entries(dir) != 1)
		return 6;
	/* There is room again as soon as less is asked for. */
	autoclose int less = fd_memfd("less", data, 16384, &err);
	if (path_clone_with_room_at(less, dir, "less", 0600, 61440, &err) == 0 ||
	    path_clone_with_room_at(less, dir, "less", 0600, 16384, &err) < 0)
		return 9;
	return path_replace_file_at(dir, "f", data, 4096, 0600, PATH_SYNC, &err) == 0 ? 0 : 7;
}

static void full_disk_keeps_the_old_file(void **state)
{
	int rc = in_child(replace_on_a_full_disk, *state);

	if (rc == 77 && getuid() != 0)
		skip();
	assert_int_equal(rc, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins),
		WITH_SCRATCH(absolute_paths_are_cleaned),
		cmocka_unit_test(is_below),
		cmocka_unit_test(safe_names),
		cmocka_unit_test(finds_its_own_executable),
		WITH_SCRATCH(directories_are_made_with_parents),
		WITH_SCRATCH(open_dir_at_makes_only_when_told),
		WITH_SCRATCH(reads_regular_files_only),
		WITH_SCRATCH(replaces_with_mode),
		WITH_SCRATCH(replaces_in_a_subdirectory),
		WITH_SCRATCH(replace_does_not_follow_links),
		WITH_SCRATCH(failed_replace_leaves_no_trace),
		WITH_SCRATCH(file_size_limit_keeps_the_old_file),
		WITH_SCRATCH(full_disk_keeps_the_old_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
