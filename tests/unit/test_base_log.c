/* SPDX-License-Identifier: MIT */
/* Tests logs, dates and limits. */
#include "test_base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"

/* Returns the lines without their 24 bytes of date, joined by '|', and empties the file. */
static char *lines_of(int fd)
{
	autobuf struct buf b = BUF_INIT(0);
	struct buf out = BUF_INIT(0);
	struct error err;
	char *rest, *line;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_ok(fd_read_to_end(fd, &b, &err));
	autofree char *text = buf_steal_string(&b, &err);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		assert_true(strlen(line) > 25);
		assert_int_equal(line[23], 'Z');
		assert_int_equal(line[24], ' ');
		assert_ok(buf_printf(&out, &err, "%s%s", out.len ? "|" : "", line + 25));
	}
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return buf_steal_string(&out, &err);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
		n++;
	return n;
}

static int new_file(void)
{
	struct error err;
	int fd = fd_memfd("log", NULL, 0, &err);

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
	return fd;
}

static void lines_are_plain(void **state)
{
	autoclose int fd = new_file();
	struct log log;

	(void)state;
	log_init(&log, fd, 0);
	log_line(&log, "first %d", 1);
	log_line(&log, "a\nforged\r\x1b[31m\x7f\tend");
	log_line(&log, "\xc3\xa9 \xc2\x9b"
		       "31m\xc2\xa0m");
	log_limited(&log, "%s", "limited");
	errno = EPIPE;
	log_line(&log, "errno stays");
	assert_int_equal(errno, EPIPE);
	autofree char *text = lines_of(fd);
	assert_string_equal(text, "first 1|a?forged??[31m??end|\xc3\xa9 ?31m\xc2\xa0m|limited|"
				  "errno stays");
}

static void long_lines_are_cut(void **state)
{
	autoclose int fd = new_file();
	autofree char *x = malloc(10001);
	struct log log;

	(void)state;
	memset(x, 'x', 10000);
	x[10000] = '\0';
	log_init(&log, fd, 0);
	log_line(&log, "%s", x);
	log_line(&log, "next");
	autofree char *text = lines_of(fd);
	assert_true(strlen(text) > 1000 && strlen(text) < 3000);
	assert_string_equal(text + strlen(text) - 6, "x|next");
}

static void at_the_cap_it_begins_anew(void **state)
{
	struct log log;

	(void)state;
	for (uint64_t cap = 40; cap < 600; cap += 7) {
		autoclose int fd = new_file();
		log_init(&log, fd, cap);
		for (int i = 0; i < 50; i++) {
			log_line(&log, "line %02d", i);
			assert_true(lseek(fd, 0, SEEK_END) <= (off_t)cap);
		}
		autofree char *text = lines_of(fd);
		assert_string_equal(text + strlen(text) - 7, "line 49");
	}
}

static void expect_file(const char *dir, const char *name, const char *lines)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	autofree char *text = lines_of(fd);
	assert_string_equal(text, lines);
}

static void the_last_file_is_kept(void **state)
{
	char dir[] = "/tmp/microagent-log-XXXXXX", name[] = "supervisor.log";
	struct log log;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	autoclose int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	log_init(&log, fd, 100); /* three lines */
	log_keep_last(&log, dirfd, name);
	for (int i = 0; i < 8; i++)
		log_line(&log, "line %d", i);
	assert_int_equal(log.fd, fd);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstatat(dirfd, name, &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	expect_file(dir, "supervisor.log.1", "line 3|line 4|line 5");
	expect_file(dir, name, "line 6|line 7");

	/* Lines that cannot be kept are lost, and later lines are written. */
	assert_int_equal(unlinkat(dirfd, "supervisor.log.1", 0), 0);
	assert_int_equal(mkdirat(dirfd, "supervisor.log.1", 0700), 0);
	for (int i = 8; i < 12; i++)
		log_line(&log, "line %d", i);
	expect_file(dir, name, "line 9|line 10|line 11");
	assert_int_equal(path_remove_tree_at(AT_FDCWD, dir, NULL), 0);
}

static void appended_file_counts_from_its_size(void **state)
{
	autoclose int fd = new_file();
	char old[500];
	struct log log;

	(void)state;
	memset(old, 'o', sizeof(old));
	old[sizeof(old) - 1] = '\n';
	assert_int_equal(write(fd, old, sizeof(old)), sizeof(old));
	log_init(&log, fd, 1000);
	log_line(&log, "fits");
	assert_int_equal(lseek(fd, 0, SEEK_END), 500 + 24 + 1 + 4 + 1);
	log_init(&log, fd, 100); /* longer already than it may become */
	log_line(&log, "anew");
	assert_int_equal(lseek(fd, 0, SEEK_END), 24 + 1 + 4 + 1);
}

static void no_log_and_a_full_disk_are_survived(void **state)
{
	autoclose int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct log log;

	(void)state;
	log_init(&log, -1, 0);
	log_line(&log, "nowhere");
	log_limited(&log, "nowhere");
	log_init(&log, full, 10000);
	for (int i = 0; i < 20; i++)
		log_line(&log, "lost");
	assert_int_equal(log.written, 0);
}

/* From here on the clock is virtual. */
static void ten_limited_lines_a_second(void **state)
{
	autoclose int fd = new_file();
	struct log log;

	(void)state;
	clock_set_virtual(5 * NS_PER_S);
	log_init(&log, fd, 0);
	for (int i = 0; i < 100; i++)
		log_limited(&log, "guest %d", i);
	log_line(&log, "ours is never limited");
	autofree char *first = lines_of(fd);
	assert_int_equal(count(first, "guest"), 10);
	assert_non_null(strstr(first, "guest 9|ours is never limited"));

	clock_set_virtual(6 * NS_PER_S - 1);
	log_limited(&log, "guest");
	autofree char *same = lines_of(fd);
	assert_string_equal(same, "");

	clock_set_virtual(6 * NS_PER_S);
	log_limited(&log, "guest again");
	autofree char *next = lines_of(fd);
	assert_string_equal(next, "91 lines were dropped: too many came in one second|guest again");

	for (int i = 0; i < 20; i++)
		log_limited(&log, "guest");
	lseek(fd, 0, SEEK_SET);
	clock_set_virtual(9 * NS_PER_S);
	free(lines_of(fd));
	log_line(&log, "ours");
	autofree char *told = lines_of(fd);
	assert_string_equal(told, "11 lines were dropped: too many came in one second|ours");
}

static void virtual_clock_stands_where_it_is_put(void **state)
{
	(void)state;
	clock_set_virtual(42);
	assert_true(clock_is_virtual());
	assert_true(clock_mono_ns() == 42);
	clock_set_virtual(UINT64_MAX);
	assert_true(clock_mono_ns() == UINT64_MAX);
	assert_true(clock_boot_ns() > 42);
	assert_true(clock_real_ns() > INT64_C(1700000000) * 1000000000);
}

static void dates(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{0, "1970-01-01T00:00:00.000Z"},
		{-1, "1969-12-31T23:59:59.999Z"},
		{999999, "1970-01-01T00:00:00.000Z"},
		{1000000, "1970-01-01T00:00:00.001Z"},
		{INT64_C(951782400) * 1000000000, "2000-02-29T00:00:00.000Z"},
		{INT64_C(951868799999) * 1000000, "2000-02-29T23:59:59.999Z"},
		{INT64_C(1709164800) * 1000000000, "2024-02-29T00:00:00.000Z"},
		{INT64_C(1777680000) * 1000000000, "2026-05-02T00:00:00.000Z"},
		{INT64_C(4107542400) * 1000000000, "2100-03-01T00:00:00.000Z"},
		{INT64_MAX, "2262-04-11T23:47:16.854Z"},
		{INT64_MIN, "1677-09-21T00:12:43.145Z"},
	};
	char text[CLOCK_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		clock_rfc3339(rows[i].ns, text);
		assert_string_equal(text, rows[i].text);
	}
}

static void what_is_no_date(void **state)
{
	static const char *const texts[] = {"",
					    "2026-05-02",
					    "2026-05-02T00:00:00Z",
					    "2026-13-02T00:00:00.000Z",
					    "2026-02-30T00:00:00.000Z",
					    "1969-12-31T23:59:59.999Z",
					    "2026-05-02T24:00:00.000Z",
					    "2026-05-02T00:00:00.000Z "};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(clock_of_rfc3339(texts[i]), -1);
}

/* Every day of the range, against the C library. */
static void dates_agree_with_gmtime(void **state)
{
	char text[CLOCK_TEXT], want[CLOCK_TEXT];

	(void)state;
	for (int64_t day = -106751; day <= 106750; day++) {
		time_t t = day * 86400 + (day * 7919 % 86400 + 86400) % 86400;
		struct tm tm;
		gmtime_r(&t, &tm);
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S.000Z", &tm);
		clock_rfc3339((int64_t)t * 1000000000, text);
		assert_string_equal(text, want);
		if (t >= 0 && day <= 106650) /* 2261 */
			assert_int_equal(clock_of_rfc3339(text), (int64_t)t * 1000000000);
	}
}

static void limits_have_distinct_names_units_and_texts(void **state)
{
	(void)state;
	for (int i = 0; i < LIMIT_COUNT; i++) {
		const struct limit_row *row = &limit_table[i];
		assert_true(*row->name && *row->unit && *row->text);
		assert_true(row->value > 0);
		assert_true(limit_get((enum limit)i) == row->value);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(row->name, limit_table[j].name);
	}
	assert_string_equal(limit_table[LIMIT_HALT_MS].name, "HALT_MS");
}

#define HALT_IN_ENVIRONMENT "MICROAGENT_TEST_LIMIT_HALT_MS"

/* Returns the limit of a process that is started with that value in its environment; NULL:
 * without. */
static uint64_t limit_in_environment(const char *value)
{
	if (value)
		setenv(HALT_IN_ENVIRONMENT, value, 1);
	else
		unsetenv(HALT_IN_ENVIRONMENT);
	limit_reset(LIMIT_HALT_MS);
	return limit_get(LIMIT_HALT_MS);
}

static void tests_may_change_a_limit(void **state)
{
	static const char *const bad[] = {
		"", "x", "5x", "-1", "+1", " 5", "5 ", "0x10", "18446744073709551616", "1.5"};
	uint64_t ordinary = limit_table[LIMIT_HALT_MS].value;

	(void)state;
	assert_true(limit_in_environment("7") == 7);
	assert_true(limit_get(LIMIT_KILL_MS) == limit_table[LIMIT_KILL_MS].value);
	assert_true(limit_in_environment("0") == 0);
	assert_true(limit_in_environment("18446744073709551615") == UINT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(limit_in_environment(bad[i]) == ordinary);
	assert_true(limit_in_environment(NULL) == ordinary);
}

static void the_environment_is_read_once(void **state)
{
	(void)state;
	assert_true(limit_in_environment("7") == 7);
	setenv(HALT_IN_ENVIRONMENT, "8", 1);
	assert_true(limit_get(LIMIT_HALT_MS) == 7);
	limit_set(LIMIT_HALT_MS, 9);
	assert_true(limit_get(LIMIT_HALT_MS) == 9);
	limit_reset(LIMIT_HALT_MS);
	assert_true(limit_get(LIMIT_HALT_MS) == 8);
	assert_true(limit_in_environment(NULL) == limit_table[LIMIT_HALT_MS].value);
}

static void a_deadline_is_a_limit_from_now(void **state)
{
	(void)state;
	clock_set_virtual(5);
	limit_set(LIMIT_HALT_MS, 3);
	assert_true(limit_deadline(LIMIT_HALT_MS) == 5 + 3 * NS_PER_MS);
	limit_reset(LIMIT_HALT_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_plain),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(at_the_cap_it_begins_anew),
		cmocka_unit_test(the_last_file_is_kept),
		cmocka_unit_test(appended_file_counts_from_its_size),
		cmocka_unit_test(no_log_and_a_full_disk_are_survived),
		cmocka_unit_test(ten_limited_lines_a_second),
		cmocka_unit_test(virtual_clock_stands_where_it_is_put),
		cmocka_unit_test(dates),
		cmocka_unit_test(dates_agree_with_gmtime),
		cmocka_unit_test(what_is_no_date),
		cmocka_unit_test(limits_have_distinct_names_units_and_texts),
		cmocka_unit_test(tests_may_change_a_limit),
		cmocka_unit_test(the_environment_is_read_once),
		cmocka_unit_test(a_deadline_is_a_limit_from_now),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
