/* SPDX-License-Identifier: MIT */
#include "test_base.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/fd.h"

static void write_file(int dir, const char *name, const char *text)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text), NULL), 0);
}

static void assert_content(int dir, const char *name, const char *text)
{
	autobuf struct buf b = BUF_INIT(0);
	struct error err;

	assert_ok(path_read_file_at(dir, name, &b, &err));
	assert_string_equal(buf_string(&b), text);
}

static int count_entries(int dir)
{
	autodir DIR *d = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int n = 0;

	while (readdir(d))
		n++;
	return n - 2;
}

static bool exists(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

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
	assert_string_equal(buf_string(&b), "one"); /* who had it open sees the old one, whole */
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

/* The answer of fn in a child, which changes what concerns a whole process. */
static int in_child(int (*fn)(const struct scratch *), const struct scratch *s)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fn(s));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
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

static bool write_proc(const char *path, const char *text)
{
	autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && fd_write_all(fd, text, strlen(text), NULL) == 0;
}

/* A mount namespace of our own: by right as root, else as the root of a new user namespace. */
static bool enter_mount_namespace(void)
{
	uid_t uid = getuid();
	char uid_map[32], gid_map[32];

	snprintf(uid_map, sizeof(uid_map), "0 %u 1", uid);
	snprintf(gid_map, sizeof(gid_map), "0 %u 1", getgid());
	if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) < 0)
		return false;
	if (uid && (!write_proc("/proc/self/setgroups", "deny") ||
		    !write_proc("/proc/self/uid_map", uid_map) ||
		    !write_proc("/proc/self/gid_map", gid_map)))
		return false;
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
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
	if (count_entries(dir) != 1)
		return 6;
	/* There is room again as soon as less is asked for. */
	return path_replace_file_at(dir, "f", data, 4096, 0600, PATH_SYNC, &err) == 0 ? 0 : 7;
}

static void full_disk_keeps_the_old_file(void **state)
{
	int rc = in_child(replace_on_a_full_disk, *state);

	if (rc == 77 && getuid() != 0)
		skip();
	assert_int_equal(rc, 0);
}

static void tree_is_removed_links_are_not_followed(void **state)
{
	const struct scratch *s = *state;
	struct error err;

	assert_int_equal(mkdirat(s->fd, "outside", 0700), 0);
	write_file(s->fd, "outside/precious", "kept");
	assert_int_equal(mkdirat(s->fd, "tree", 0700), 0);
	assert_int_equal(mkdirat(s->fd, "tree/a", 0700), 0);
	assert_int_equal(mkdirat(s->fd, "tree/a/b", 0700), 0);
	write_file(s->fd, "tree/a/b/f", "x");
	write_file(s->fd, "tree/.hidden", "x");
	assert_int_equal(mkfifoat(s->fd, "tree/a/fifo", 0600), 0);
	assert_int_equal(symlinkat("../outside", s->fd, "tree/link"), 0);
	assert_int_equal(symlinkat(s->path, s->fd, "tree/a/absolute"), 0);
	assert_int_equal(symlinkat("nowhere", s->fd, "tree/a/dangling"), 0);
	assert_int_equal(linkat(s->fd, "outside/precious", s->fd, "tree/hard", 0), 0);
	int before = open_descriptors();
	assert_ok(path_remove_tree_at(s->fd, "tree", &err));
	assert_int_equal(open_descriptors(), before);
	assert_false(exists(s->fd, "tree"));
	assert_content(s->fd, "outside/precious", "kept");
}

static void files_links_and_absent_names_as_top(void **state)
{
	const struct scratch *s = *state;
	struct error err;

	assert_ok(path_remove_tree_at(s->fd, "none", &err));
	write_file(s->fd, "file", "x");
	assert_ok(path_remove_tree_at(s->fd, "file", &err));
	assert_int_equal(mkdirat(s->fd, "dir", 0700), 0);
	write_file(s->fd, "dir/f", "x");
	assert_int_equal(symlinkat("dir", s->fd, "link"), 0);
	assert_ok(path_remove_tree_at(s->fd, "link", &err));
	assert_false(exists(s->fd, "link"));
	assert_content(s->fd, "dir/f", "x");
	assert_ok(path_remove_tree_at(s->fd, "dir", &err));
	assert_int_equal(count_entries(s->fd), 0);
}

static void tree_of_many_entries(void **state)
{
	const struct scratch *s = *state;
	char name[32];
	struct error err;

	assert_int_equal(mkdirat(s->fd, "tree", 0700), 0);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "tree/%d", i);
		if (i % 4 == 0)
			assert_int_equal(mkdirat(s->fd, name, 0700), 0);
		else
			write_file(s->fd, name, "");
	}
	assert_ok(path_remove_tree_at(s->fd, "tree", &err));
	assert_int_equal(count_entries(s->fd), 0);
}

/* Deeper than there are descriptors, and than a path can be long. */
static int remove_deep_tree(const struct scratch *s)
{
	struct rlimit few = {.rlim_cur = 64, .rlim_max = 64};
	int dir = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err;

	for (int i = 0; i < 3000; i++) {
		if (mkdirat(dir, "deep", 0700) < 0 || mkdirat(dir, "beside", 0700) < 0)
			return 1;
		int next = openat(dir, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(dir);
		dir = next;
	}
	close(dir);
	if (setrlimit(RLIMIT_NOFILE, &few) < 0)
		return 2;
	if (path_remove_tree_at(s->fd, "deep", &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 3;
	}
	return exists(s->fd, "deep") ? 4 : 0;
}

static void tree_deeper_than_descriptors(void **state)
{
	assert_int_equal(in_child(remove_deep_tree, *state), 0);
}

/* As an ordinary user, whom modes concern. */
static int remove_locked_tree(const struct scratch *s)
{
	struct error err;

	if (getuid() == 0 &&
	    (fchown(s->fd, 65534, 65534) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
		return 1;
	if (mkdirat(s->fd, "t", 0700) < 0 || mkdirat(s->fd, "t/none", 0700) < 0 ||
	    mkdirat(s->fd, "t/none/x", 0700) < 0 || mkdirat(s->fd, "t/readonly", 0700) < 0)
		return 2;
	close(openat(s->fd, "t/readonly/f", O_CREAT | O_WRONLY | O_CLOEXEC, 0400));
	if (fchmodat(s->fd, "t/none", 0, 0) < 0 || fchmodat(s->fd, "t/readonly", 0500, 0) < 0 ||
	    fchmodat(s->fd, "t", 0500, 0) < 0)
		return 3;
	if (path_remove_tree_at(s->fd, "t", &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 4;
	}
	return exists(s->fd, "t") ? 5 : 0;
}

static void tree_that_forbids_its_owner(void **state)
{
	assert_int_equal(in_child(remove_locked_tree, *state), 0);
}

/* The directory of a stranger: what can go goes, the rest is an error that names it. */
static int remove_part_of_a_tree(const struct scratch *s)
{
	struct error err;

	if (mkdirat(s->fd, "t", 0777) < 0 || mkdirat(s->fd, "t/strange", 0700) < 0 ||
	    mkdirat(s->fd, "t/strange/inner", 0700) < 0 || mkdirat(s->fd, "t/ours", 0700) < 0)
		return 1;
	if (fchmod(s->fd, 0777) < 0 || fchmodat(s->fd, "t", 0777, 0) < 0 || setgid(65534) < 0 ||
	    setuid(65534) < 0)
		return 2;
	if (path_remove_tree_at(s->fd, "t", &err) == 0 || err.code != ERR_DENIED)
		return 3;
	if (!strstr(err.msg, "strange"))
		return 4;
	return exists(s->fd, "t/ours") || !exists(s->fd, "t/strange") ? 5 : 0;
}

static void tree_with_a_strangers_directory(void **state)
{
	if (getuid() != 0)
		skip(); /* only root can make one */
	assert_int_equal(in_child(remove_part_of_a_tree, *state), 0);
}

static int remove_tree_with_mounts(const struct scratch *s)
{
	autofree char *tmpfs = NULL, *bind = NULL, *outside = NULL;
	struct error err = {0};

	if (asprintf(&tmpfs, "%s/t/tmpfs", s->path) < 0 ||
	    asprintf(&bind, "%s/t/bind", s->path) < 0 ||
	    asprintf(&outside, "%s/outside", s->path) < 0)
		return 1;
	if (path_make_dirs(tmpfs, 0700, &err) < 0 || path_make_dirs(bind, 0700, &err) < 0 ||
	    path_make_dirs(outside, 0700, &err) < 0)
		return 2;
	if (!enter_mount_namespace() || mount("tmpfs", tmpfs, "tmpfs", 0, NULL) < 0 ||
	    mount(outside, bind, NULL, MS_BIND, NULL) < 0)
		return 77;
	/* s->fd belongs to the namespace from before and would not show the mounts. */
	autoclose int dir = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(dir, "t/tmpfs/inside", 0700) < 0 || mkdirat(dir, "t/bind/inside", 0700) < 0 ||
	    mkdirat(dir, "t/ordinary", 0700) < 0)
		return 3;
	if (path_remove_tree_at(dir, "t", &err) == 0)
		return 4;
	if (err.code != ERR_CONFLICT || !strstr(err.msg, "mount point"))
		return 5;
	return exists(dir, "t/tmpfs/inside") && exists(dir, "outside/inside") &&
			       !exists(dir, "t/ordinary")
		       ? 0
		       : 6;
}

static void mounts_are_not_entered(void **state)
{
	int rc = in_child(remove_tree_with_mounts, *state);

	if (rc == 77 && getuid() != 0)
		skip();
	assert_int_equal(rc, 0);
}

/* 8 MiB with data at the start, in the middle and in the last bytes. */
static int make_sparse(const struct scratch *s)
{
	int fd = openat(s->fd, "sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(ftruncate(fd, 8 << 20), 0);
	assert_int_equal(pwrite(fd, "start", 5, 0), 5);
	assert_int_equal(pwrite(fd, "middle", 6, (4 << 20) + 4094), 6);
	assert_int_equal(pwrite(fd, "end", 3, (8 << 20) - 3), 3);
	assert_int_equal(lseek(fd, 17, SEEK_SET), 17);
	return fd;
}

static void clone_keeps_data_and_holes(void **state)
{
	const struct scratch *s = *state;
	autoclose int from = make_sparse(s);
	const char *method = NULL;
	autobuf struct buf a = BUF_INIT(0), b = BUF_INIT(0);
	struct stat source, copy;
	struct error err;

	assert_ok(path_clone_file_at(from, s->fd, "copy", 0640, &method, &err));
	assert_true(strcmp(method, "copy") == 0 || strcmp(method, "reflink") == 0);
	assert_int_equal(lseek(from, 0, SEEK_CUR), 17);
	assert_int_equal(fstat(from, &source), 0);
	assert_int_equal(fstatat(s->fd, "copy", &copy, 0), 0);
	assert_int_equal(copy.st_size, 8 << 20);
	assert_int_equal(copy.st_mode & 07777, 0640);
	assert_true(copy.st_blocks <= source.st_blocks);
	assert_ok(path_read_file_at(s->fd, "sparse", &a, &err));
	assert_ok(path_read_file_at(s->fd, "copy", &b, &err));
	assert_int_equal(a.len, b.len);
	assert_memory_equal(buf_bytes(&a), buf_bytes(&b), a.len);
}

/* Across file systems neither reflink nor (before Linux 5.3) copy_file_range() is to be had. */
static void clone_from_memory(void **state)
{
	const struct scratch *s = *state;
	autofree char *data = malloc(3000000);
	autobuf struct buf b = BUF_INIT(0);
	struct error err;

	for (int i = 0; i < 3000000; i++)
		data[i] = (char)(i * 7 + 1);
	autoclose int from = fd_memfd("x", data, 3000000, &err);
	assert_ok(path_clone_file_at(from, s->fd, "copy", 0600, NULL, &err));
	assert_ok(path_read_file_at(s->fd, "copy", &b, &err));
	assert_int_equal(b.len, 3000000);
	assert_memory_equal(buf_bytes(&b), data, 3000000);
	autoclose int empty = fd_memfd("x", NULL, 0, &err);
	assert_ok(path_clone_file_at(empty, s->fd, "empty", 0600, NULL, &err));
	assert_content(s->fd, "empty", "");
}

static void clone_failures_leave_nothing(void **state)
{
	const struct scratch *s = *state;
	const char *method = "untouched";
	struct error err;
	int p[2];

	write_file(s->fd, "there", "kept");
	autoclose int from = openat(s->fd, "there", O_RDONLY | O_CLOEXEC);
	assert_int_equal(path_clone_file_at(from, s->fd, "there", 0600, &method, &err), -1);
	assert_code(err, ERR_CONFLICT);
	assert_content(s->fd, "there", "kept");
	assert_ok(fd_pipe(p, &err));
	assert_int_equal(path_clone_file_at(p[0], s->fd, "copy", 0600, &method, &err), -1);
	assert_code(err, ERR_INVALID);
	close(p[0]);
	close(p[1]);
	autoclose int blind = openat(s->fd, "there", O_WRONLY | O_CLOEXEC);
	assert_int_equal(path_clone_file_at(blind, s->fd, "copy", 0600, &method, &err), -1);
	assert_int_equal(count_entries(s->fd), 1);
	assert_string_equal(method, "untouched");
}

#define WITH_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins),
		WITH_SCRATCH(absolute_paths_are_cleaned),
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
		WITH_SCRATCH(tree_is_removed_links_are_not_followed),
		WITH_SCRATCH(files_links_and_absent_names_as_top),
		WITH_SCRATCH(tree_of_many_entries),
		WITH_SCRATCH(tree_deeper_than_descriptors),
		WITH_SCRATCH(tree_that_forbids_its_owner),
		WITH_SCRATCH(tree_with_a_strangers_directory),
		WITH_SCRATCH(mounts_are_not_entered),
		WITH_SCRATCH(clone_keeps_data_and_holes),
		WITH_SCRATCH(clone_from_memory),
		WITH_SCRATCH(clone_failures_leave_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
