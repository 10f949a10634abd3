/* SPDX-License-Identifier: MIT */
/* Tests trees of files: removed, made and cloned whole. */
#include "test_base_path.h"

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

/* Deeper than there are descriptors, and deeper than a path can be long. */
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

/* Runs as an ordinary user, for whom modes count. */
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

/* In a foreign user's directory everything possible is removed, and the rest is an error that names
 * it. */
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

/* A large file is copied in parts, between which the caller does its other work. */
static void a_clone_in_parts(void **state)
{
	const struct scratch *s = *state;
	const size_t size = (40 << 20) + 5, hole = 20 << 20;
	autofree uint8_t *data = calloc(1, size);
	autobuf struct buf copied = BUF_INIT(0);
	struct error err;
	int64_t at = 0;
	int parts = 1, got;

	memset(data, 7, hole);
	memset(data + size - 5, 8, 5);
	/* A file in memory, so that no reflink makes the copy at once. */
	autoclose int from = fd_memfd("x", data, hole, &err);
	assert_int_equal(pwrite(from, data + size - 5, 5, (off_t)size - 5), 5);
	assert_int_equal(lseek(from, 17, SEEK_SET), 17);
	autoclose int to = openat(s->fd, "copy", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	while ((got = path_clone_part(from, to, &at, &err)) == 0)
		parts++;
	assert_int_equal(got, 1);
	assert_true(parts >= 3);
	assert_int_equal(at, size);
	assert_int_equal(lseek(from, 0, SEEK_CUR), 17);
	assert_ok(path_read_file_at(s->fd, "copy", &copied, &err));
	assert_int_equal(copied.len, size);
	assert_memory_equal(buf_bytes(&copied), data, size);
}

/* Across file systems neither reflink nor (before Linux 5.3) copy_file_range() is possible. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SCRATCH(tree_is_removed_links_are_not_followed),
		WITH_SCRATCH(files_links_and_absent_names_as_top),
		WITH_SCRATCH(tree_of_many_entries),
		WITH_SCRATCH(tree_deeper_than_descriptors),
		WITH_SCRATCH(tree_that_forbids_its_owner),
		WITH_SCRATCH(tree_with_a_strangers_directory),
		WITH_SCRATCH(mounts_are_not_entered),
		WITH_SCRATCH(clone_keeps_data_and_holes),
		WITH_SCRATCH(clone_from_memory),
		WITH_SCRATCH(a_clone_in_parts),
		WITH_SCRATCH(clone_failures_leave_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
