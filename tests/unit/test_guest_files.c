/* SPDX-License-Identifier: MIT */
/* Tests files through the agent, in the envelope form: write, list and stat; and their records. */
#include "guest_client.h"

#include "base/base64.h"
#include "base/limits.h"
#include "guest/agent/answer_file.h"
#include "guest/files/file_record.h"

/* A directory in which the user of the fixture may write. */
struct place {
	struct fixture fixture;
	char dir[64];
};

static int start(void **state)
{
	struct place *p = malloc(sizeof(*p));

	*p = (struct place){.fixture = fixture_start(false, true)};
	strcpy(p->dir, "/tmp/microagent-files-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	if (geteuid() == 0)
		assert_int_equal(chown(p->dir, 1000, 1000), 0);
	*state = p;
	return 0;
}

static int end(void **state)
{
	struct place *p = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", p->dir);
	assert_int_equal(system(command), 0);
	fixture_end(&p->fixture);
	free(p);
	return 0;
}

static char *ask(const struct place *p, const char *op, const char *path, const char *more)
{
	autofree char *request = NULL;

	assert_true(asprintf(&request, "{\"op\":\"%s\",\"payload\":{\"guest_path\":\"%s%s\"%s}}\n",
			     op, p->dir, path, more) > 0);
	return ask_envelope(&p->fixture, request);
}

static void expect(const struct place *p, const char *op, const char *path, const char *more,
		   const char *answer)
{
	autofree char *got = ask(p, op, path, more);

	assert_string_equal(got, answer);
}

static int open_at(const struct place *p, const char *path, int flags)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s", p->dir, path);
	return open(full, flags | O_CLOEXEC, 0644);
}

static void expect_file(const struct place *p, const char *path, const char *text, mode_t mode)
{
	autoclose int fd = open_at(p, path, O_RDONLY);
	struct buf all = {0};
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fd_read_to_end(fd, &all, NULL), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_string_equal(buf_string(&all), text);
	assert_int_equal(st.st_mode & 07777, mode);
	assert_int_equal(st.st_uid, geteuid() ? geteuid() : 1000);
	buf_free(&all);
}

static void write_makes_parents(void **state)
{
	const struct place *p = *state;
	char path[128];
	struct stat st;

	expect(p, "write", "/a/b/log.txt", ",\"data\":\"aGVsbG8gd29ybGQ=\"",
	       "{\"size\":11,\"error\":\"\"}\n");
	expect_file(p, "/a/b/log.txt", "hello world", 0600);
	snprintf(path, sizeof(path), "%s/a/b", p->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	/* The old contents are cut off, and the mode stays. */
	strcat(path, "/log.txt");
	assert_int_equal(chmod(path, 0644), 0);
	expect(p, "write", "/a/b/log.txt", ",\"data\":\"aGk=\"", "{\"size\":2,\"error\":\"\"}\n");
	expect_file(p, "/a/b/log.txt", "hi", 0644);
	expect(p, "write", "/a/b/log.txt", ",\"data\":null", "{\"size\":0,\"error\":\"\"}\n");
	expect_file(p, "/a/b/log.txt", "", 0644);
}

static void write_longest(void **state)
{
	const struct place *p = *state;
	size_t most = (size_t)limit_get(LIMIT_WRITE_BYTES);
	autofree char *zeros = calloc(1, most + 1), *fits = NULL, *above = NULL, *more = NULL;
	struct stat st;

	fits = base64_encode(zeros, most, NULL);
	above = base64_encode(zeros, most + 1, NULL);
	assert_true(asprintf(&more, ",\"data\":\"%s\"", fits) > 0);
	expect(p, "write", "/big", more, "{\"size\":16777216,\"error\":\"\"}\n");
	autoclose int fd = open_at(p, "/big", O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, most);
	free(more);
	assert_true(asprintf(&more, ",\"data\":\"%s\"", above) > 0);
	expect(p, "write", "/bigger", more,
	       "{\"size\":0,\"error\":\"payload.data: the data has more than the limit of 16777216 bytes\"}\n");
	assert_int_equal(open_at(p, "/bigger", O_RDONLY), -1);
}

static void make_special_files(const struct place *p)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/fifo", p->dir);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(chmod(path, 0666), 0);
	snprintf(path, sizeof(path), "%s/dir", p->dir);
	assert_int_equal(mkdir(path, 0777), 0);
	snprintf(path, sizeof(path), "%s/device", p->dir);
	assert_int_equal(symlink("/dev/null", path), 0);
	snprintf(path, sizeof(path), "%s/loop", p->dir);
	assert_int_equal(symlink("loop", path), 0);
	snprintf(path, sizeof(path), "%s/gone", p->dir);
	assert_int_equal(symlink("nowhere", path), 0);
}

#define NOT_WRITTEN \
	" in the guest is not a regular file, so it cannot be written: name a regular file"
#define NOT_COPIED \
	" in the guest is not a regular file, so it cannot be copied: name a regular file"

/* A file that is not regular is refused, without a hang or a change. */
static void special_files(void **state)
{
	static const struct {
		const char *path, *write, *copyout;
	} cases[] = {
		{"/fifo", NOT_WRITTEN, NOT_COPIED},
		{"/dir", NOT_WRITTEN, NOT_COPIED},
		{"/dir/", NOT_WRITTEN, NOT_COPIED},
		{"/device", NOT_WRITTEN, NOT_COPIED},
		{"/loop", ": Too many levels of symbolic links",
		 ": Too many levels of symbolic links"},
		{"/fifo/x", ": Not a directory", ": Not a directory"},
	};
	const struct place *p = *state;

	make_special_files(p);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char expected[256];

		snprintf(expected, sizeof(expected), "{\"size\":0,\"error\":\"%s%s%s\"}\n", p->dir,
			 cases[i].path, cases[i].write);
		expect(p, "write", cases[i].path, ",\"data\":\"aGk=\"", expected);
		snprintf(expected, sizeof(expected), "{\"data\":\"\",\"error\":\"%s%s%s\"}\n",
			 p->dir, cases[i].path, cases[i].copyout);
		expect(p, "copyout", cases[i].path, "", expected);
	}
	/* If the FIFO has a reader it can be opened, and still nothing is written. */
	autoclose int fifo = open_at(p, "/fifo", O_RDWR | O_NONBLOCK);
	autofree char *answer = ask(p, "write", "/fifo", ",\"data\":\"aGk=\"");
	char byte;

	assert_non_null(strstr(answer, "not a regular file"));
	assert_int_equal(read(fifo, &byte, 1), -1);
}

/* A link is followed with the user's rights, which do not reach root's files. */
static void rights_are_the_users(void **state)
{
	const struct place *p = *state;
	char path[128], expected[256];

	if (geteuid() != 0)
		return; /* the user who runs the tests is the only user */
	snprintf(path, sizeof(path), "%s/secret", p->dir);
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	snprintf(path, sizeof(path), "%s/link", p->dir);
	assert_int_equal(symlink("secret", path), 0);
	snprintf(expected, sizeof(expected),
		 "{\"size\":0,\"error\":\"%s/link: Permission denied\"}\n", p->dir);
	expect(p, "write", "/link", ",\"data\":\"aGk=\"", expected);
	expect(p, "write", "/link", ",\"data\":\"aGk=\",\"user\":\"root\"",
	       "{\"size\":2,\"error\":\"\"}\n");
	snprintf(expected, sizeof(expected),
		 "{\"data\":\"\",\"error\":\"%s/link: Permission denied\"}\n", p->dir);
	expect(p, "copyout", "/link", "", expected);
}

static void write_refusals(void **state)
{
	const struct place *p = *state;
	autofree char *relative =
		ask_envelope(&p->fixture, "{\"op\":\"write\",\"payload\":{\"guest_path\":\"x\"}}");
	autofree char *base64 = ask(p, "write", "/x", ",\"data\":\"not base64\"");

	assert_string_equal(
		relative,
		"{\"size\":0,\"error\":\"payload.guest_path must be an absolute path, like /root/file\"}\n");
	assert_non_null(strstr(base64, "{\"size\":0,\"error\":\"payload.data: "));
	expect(p, "write", "/x", ",\"data\":5",
	       "{\"size\":0,\"error\":\"payload.data must be a string\"}\n");
	autofree char *user = ask(p, "write", "/x", ",\"user\":\"nobody-here\"");
	assert_non_null(strstr(user, "\"error\":\"user \\\"nobody-here\\\" is not in"));
	assert_int_equal(open_at(p, "/x", O_RDONLY), -1);
}

static void set_time(const struct place *p, const char *path, time_t seconds)
{
	const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
	char full[128];

	snprintf(full, sizeof(full), "%s%s", p->dir, path);
	assert_int_equal(utimensat(AT_FDCWD, full, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void list_and_stat(void **state)
{
	const struct place *p = *state;
	char expected[256];

	expect(p, "list", "", "", "{\"entries\":[],\"error\":\"\"}\n");
	close(open_at(p, "/b", O_WRONLY | O_CREAT));
	autoclose int fd = open_at(p, "/a", O_WRONLY | O_CREAT);
	assert_int_equal(write(fd, "12345", 5), 5);
	assert_int_equal(fchmod(fd, 04755), 0);
	snprintf(expected, sizeof(expected), "%s/link", p->dir);
	assert_int_equal(symlink("a", expected), 0);
	set_time(p, "/a", 1);
	set_time(p, "/b", 1700000000);
	set_time(p, "/link", -5);
	expect(p, "list", "/", "",
	       "{\"entries\":["
	       "{\"name\":\"a\",\"size\":5,\"mode\":8389101,\"is_dir\":false,\"mod_time\":1},"
	       "{\"name\":\"b\",\"size\":0,\"mode\":420,\"is_dir\":false,\"mod_time\":1700000000},"
	       "{\"name\":\"link\",\"size\":1,\"mode\":134218239,\"is_dir\":false,\"mod_time\":-5}"
	       "],\"error\":\"\"}\n");
	/* stat follows the link; the name is the one asked for. */
	expect(p, "stat", "/link", "",
	       "{\"name\":\"link\",\"size\":5,\"mode\":8389101,\"is_dir\":false,\"mod_time\":1,"
	       "\"error\":\"\"}\n");
}

static void list_and_stat_refusals(void **state)
{
	static const struct {
		const char *path, *why;
	} cases[] = {
		{"/none", "No such file or directory"},
		{"/gone", "No such file or directory"},
		{"/loop", "Too many levels of symbolic links"},
	};
	const struct place *p = *state;
	char expected[256];

	make_special_files(p);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(expected, sizeof(expected), "{\"entries\":[],\"error\":\"%s%s: %s\"}\n",
			 p->dir, cases[i].path, cases[i].why);
		expect(p, "list", cases[i].path, "", expected);
		snprintf(expected, sizeof(expected),
			 "{\"name\":\"\",\"size\":0,\"mode\":0,\"is_dir\":false,\"mod_time\":0,"
			 "\"error\":\"%s%s: %s\"}\n",
			 p->dir, cases[i].path, cases[i].why);
		expect(p, "stat", cases[i].path, "", expected);
	}
	snprintf(expected, sizeof(expected),
		 "{\"entries\":[],\"error\":\"%s/fifo: Not a directory\"}\n", p->dir);
	expect(p, "list", "/fifo", "", expected);
}

/* One entry more than list returns. */
static void list_is_cut(void **state)
{
	const struct place *p = *state;
	json_auto_t *answer = NULL;
	autofree char *text = NULL;
	const json_t *entries;

	for (int i = 0; i < 6; i++) {
		char name[16];

		snprintf(name, sizeof(name), "/f%d", i);
		close(open_at(p, name, O_WRONLY | O_CREAT));
	}
	text = ask(p, "list", "", "");
	answer = json_load_strict(text, strlen(text), NULL);
	entries = json_object_get(answer, "entries");
	assert_int_equal(json_array_size(entries), 5);
	assert_true(json_is_true(json_object_get(answer, "truncated")));
	assert_string_equal(json_string_value(json_object_get(answer, "error")), "");
}

/* The most that list returns: nothing is left out. */
static void longest_list(void **state)
{
	const struct place *p = *state;
	size_t most = (size_t)limit_get(LIMIT_LIST_ENTRIES);
	autoclose int dir = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autofree char *text = NULL;
	json_auto_t *answer = NULL;

	for (size_t i = 0; i < most; i++) {
		char name[64];

		snprintf(name, sizeof(name), "file-of-some-name-%06zu", i);
		close(openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	}
	text = ask(p, "list", "", "");
	answer = json_load_strict(text, strlen(text), NULL);
	assert_int_equal(json_array_size(json_object_get(answer, "entries")), most);
	assert_null(json_object_get(answer, "truncated"));
	/* Entries above the length of an answer are left out too. */
	free(text);
	limit_set(LIMIT_LIST_BYTES, 1000);
	struct buf records = {0};
	const struct stat st = {0};
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(file_record_put(&records, "name", &st, NULL), 0);
	text = answer_list(&(struct file_end){.output = &records, .error = ""}, NULL);
	limit_reset(LIMIT_LIST_BYTES);
	assert_true(strlen(text) < 1200);
	assert_non_null(strstr(text, "}],\"error\":\"\",\"truncated\":true}"));
	buf_free(&records);
}

static int start_short_lists(void **state)
{
	int got;

	limit_set(LIMIT_LIST_ENTRIES, 5);
	got = start(state);
	limit_reset(LIMIT_LIST_ENTRIES);
	return got;
}

/* A user's process may say anything instead of ours. */
static void records_from_a_liar(void **state)
{
	const struct stat st = {.st_mode = S_IFREG | 0644, .st_size = 3};
	struct buf bytes = {0};
	struct file_end end = {.output = &bytes, .error = ""};

	(void)state;
	assert_int_equal(file_record_put(&bytes, "\"\n\xff", &st, NULL), 0);
	assert_int_equal(file_record_put(&bytes, "cut", &st, NULL), 0);
	bytes.len--;
	autofree char *list = answer_list(&end, NULL);
	assert_string_equal(list, "{\"entries\":[{\"name\":\"\\\"\\n\xef\xbf\xbd\",\"size\":3,"
				  "\"mode\":420,\"is_dir\":false,\"mod_time\":0}],\"error\":\"\"}");
	bytes.len = 10;
	autofree char *stat = answer_stat(&end, NULL);
	assert_string_equal(stat, "{\"name\":\"\",\"size\":0,\"mode\":0,\"is_dir\":false,"
				  "\"mod_time\":0,\"error\":\"nothing is known of the file\"}");
	bytes.len = 0;
	assert_int_equal(file_record_put_more(&bytes, NULL), 0);
	autofree char *more = answer_list(&end, NULL);
	assert_string_equal(more, "{\"entries\":[],\"error\":\"\",\"truncated\":true}");
	buf_free(&bytes);
}

static void modes_as_go_has_them(void **state)
{
	(void)state;
	assert_int_equal(file_mode_of_go(S_IFREG | 0644), 0644);
	assert_int_equal(file_mode_of_go(S_IFDIR | S_ISVTX | 0777), 0x80000000u | 1u << 20 | 0777);
	assert_int_equal(file_mode_of_go(S_IFLNK | 0777), 1u << 27 | 0777);
	assert_int_equal(file_mode_of_go(S_IFCHR | 0666), 1u << 26 | 1u << 21 | 0666);
	assert_int_equal(file_mode_of_go(S_IFBLK | 0660), 1u << 26 | 0660);
	assert_int_equal(file_mode_of_go(S_IFIFO), 1u << 25);
	assert_int_equal(file_mode_of_go(S_IFSOCK), 1u << 24);
	assert_int_equal(file_mode_of_go(S_IFREG | S_ISUID | S_ISGID), 1u << 23 | 1u << 22);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(write_makes_parents, start, end),
		cmocka_unit_test_setup_teardown(write_longest, start, end),
		cmocka_unit_test_setup_teardown(special_files, start, end),
		cmocka_unit_test_setup_teardown(rights_are_the_users, start, end),
		cmocka_unit_test_setup_teardown(write_refusals, start, end),
		cmocka_unit_test_setup_teardown(list_and_stat, start, end),
		cmocka_unit_test_setup_teardown(list_and_stat_refusals, start, end),
		cmocka_unit_test_setup_teardown(list_is_cut, start_short_lists, end),
		cmocka_unit_test_setup_teardown(longest_list, start, end),
		cmocka_unit_test(records_from_a_liar),
		cmocka_unit_test(modes_as_go_has_them),
	};
	int code;

	if (fixture_role(argc, argv, &code))
		return code;
	return cmocka_run_group_tests_name("guest files", tests, NULL, NULL);
}
