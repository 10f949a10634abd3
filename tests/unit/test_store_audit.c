/* SPDX-License-Identifier: MIT */
/* The audit log: written, gone on with after a crash, altered in every way, and what is said of it.
 */
#include "store_fixture.h"

#include <dirent.h>
#include <sha256.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/json.h"
#include "store/audit.h"

#define LOG "agent-1/" AUDIT_LOG

static const struct audit_event said = {.subsystem = "test", .event = "test.said"};

static void begin(struct fixture *f)
{
	put_file(f, "agent-1/session.json", "{}");
	for (int i = 0; i < 4; i++)
		assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
}

static struct audit_report verify_with(struct fixture *f, bool with_security_log)
{
	struct audit_heads heads = {0};
	struct audit_report report;
	struct error err = {0};
	autoclose int fd = open(at(f, LOG), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (with_security_log)
		assert_int_equal(audit_heads_load(f->path, "agent-1", &heads, &err), 0);
	assert_int_equal(
		audit_verify(fd, "agent-1", with_security_log ? &heads : NULL, &report, &err), 0);
	audit_heads_free(&heads);
	return report;
}

static struct audit_report verify(struct fixture *f)
{
	return verify_with(f, true);
}

static void expect_bad(const struct audit_report *report, enum audit_verdict verdict, uint64_t line,
		       const char *why)
{
	assert_string_equal(audit_verdict_names[report->verdict], audit_verdict_names[verdict]);
	assert_int_equal(report->bad_line, line);
	if (!strstr(report->why, why))
		fail_msg("%s", report->why);
}

/* The log's lines, to be put back in another order or shape. */
struct lines {
	char *text[16];
	size_t count;
};

static struct lines take_lines(struct fixture *f)
{
	autofree char *text = get_file(f, LOG);
	struct lines lines = {0};
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")) && *line)
		lines.text[lines.count++] = strdup(line);
	return lines;
}

/* The one of today, and its name below f. */
static char *get_security_log(struct fixture *f, char *name, size_t size)
{
	const struct dirent *entry;
	autodir DIR *dir = opendir(at(f, "../logs"));

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] == 's')
			snprintf(name, size, "../logs/%.64s", entry->d_name);
	return get_file(f, name);
}

static size_t begin_of_last_line(const char *text)
{
	size_t at_byte = strlen(text) - 1;

	while (text[at_byte - 1] != '\n')
		at_byte--;
	return at_byte;
}

static void put_lines(struct fixture *f, const struct lines *lines)
{
	autofile FILE *file = fopen(at(f, LOG), "w");

	for (size_t i = 0; i < lines->count; i++)
		fprintf(file, "%s\n", lines->text[i]);
}

static void free_lines(struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->text[i]);
}

static void append_raw(struct fixture *f, const char *text)
{
	autofile FILE *file = fopen(at(f, LOG), "a");

	assert_true(fputs(text, file) >= 0);
}

static void a_whole_log(void **state)
{
	struct fixture *f = *state;
	struct audit_report report;
	struct audit audit = AUDIT_NONE;
	struct lines lines;
	struct error err = {0};

	begin(f);
	report = verify(f);
	assert_int_equal(report.verdict, AUDIT_OPEN);
	assert_int_equal(report.lines, 5);
	assert_int_equal(report.confirmed, 5);
	assert_int_equal(audit_open(&f->ws, &audit, &err), 0);
	assert_int_equal(audit_finish(&audit, &err), 0);
	assert_int_equal(audit_finish(&audit, &err), 0);
	assert_int_equal(audit_append(&audit, &said, STORE_NO_SYNC, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	audit_release(&audit);
	assert_int_equal(audit_note(&f->ws, &said, &err), -1);
	report = verify(f);
	assert_int_equal(report.verdict, AUDIT_CLOSED);
	assert_int_equal(report.lines, 6);
	lines = take_lines(f);
	assert_non_null(strstr(lines.text[5], "\"count\":6"));
	free_lines(&lines);
}

static void no_session_has_no_log(void **state)
{
	struct fixture *f = *state;

	assert_false(audit_is_kept(&f->ws));
	assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
	assert_int_equal(access(at(f, LOG), F_OK), -1);
	assert_int_equal(audit_archive(&f->ws, NULL), 0);
}

static void altered_lines(void **state)
{
	struct fixture *f = *state;
	struct lines lines;
	struct audit_report report;
	char *saved;

	begin(f);
	lines = take_lines(f);

	/* Edited: the one after it no longer fits, and the security log knows better at once. */
	saved = strdup(lines.text[2]);
	memcpy(strstr(lines.text[2], "said"), "done", 4);
	put_lines(f, &lines);
	report = verify(f);
	expect_bad(&report, AUDIT_BROKEN, 3, "security log");
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_BROKEN, 4, "prev");
	free(lines.text[2]);
	lines.text[2] = strdup("garbage");
	put_lines(f, &lines);
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_BROKEN, 3, "no line of an audit log");
	free(lines.text[2]);
	lines.text[2] = saved;

	/* Taken out, put in, put in another order. */
	saved = lines.text[1];
	memmove(&lines.text[1], &lines.text[2], 3 * sizeof(char *));
	lines.count--;
	put_lines(f, &lines);
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_BROKEN, 2, "its seq is 3");
	memmove(&lines.text[2], &lines.text[1], 3 * sizeof(char *));
	lines.text[1] = saved;
	lines.count += 2;
	lines.text[5] = strdup(lines.text[4]);
	put_lines(f, &lines);
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_BROKEN, 6, "its seq is 5");
	free(lines.text[--lines.count]);
	saved = lines.text[3];
	lines.text[3] = lines.text[2];
	lines.text[2] = saved;
	put_lines(f, &lines);
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_BROKEN, 3, "its seq is 4");

	/* Its end cut off, and all of it: only the security log can know. */
	saved = lines.text[3];
	lines.text[3] = lines.text[2];
	lines.text[2] = saved;
	free(lines.text[--lines.count]);
	put_lines(f, &lines);
	report = verify_with(f, false);
	assert_int_equal(report.verdict, AUDIT_OPEN);
	report = verify(f);
	expect_bad(&report, AUDIT_BROKEN, 5, "missing");
	assert_int_equal(unlink(at(f, LOG)), 0);
	assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
	report = verify(f);
	expect_bad(&report, AUDIT_BROKEN, 1, "another line");
	free_lines(&lines);
	put_file(f, LOG, "");
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_BROKEN, 1, "empty");
}

/* A crash in the middle of a line; then a new writer, as after every crash. */
static void a_torn_tail(void **state)
{
	static const char *const tails[] = {"{\"ts\":\"2026-0", "x", "{}"};
	struct fixture *f = *state;
	struct audit_report report;
	struct lines lines;

	begin(f);
	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		append_raw(f, tails[i]);
		report = verify(f);
		expect_bad(&report, AUDIT_TORN, 6, i ? "crash" : "cut short");
		assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
		report = verify(f);
		expect_bad(&report, AUDIT_TORN, 6, "crash");
		assert_int_equal(report.lines, 8 + 3 * i);
	}
	/* What looks like a crash and was none. */
	lines = take_lines(f);
	free(lines.text[1]);
	lines.text[1] = strdup("{\"ts\":\"20");
	put_lines(f, &lines);
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_BROKEN, 2, "no line");
	free_lines(&lines);
}

/* The newline alone is missing: the line is whole, and its writer never knew that it was written.
 */
static void a_tail_without_its_newline(void **state)
{
	struct fixture *f = *state;
	struct audit_report report;
	struct stat st;

	begin(f);
	assert_int_equal(stat(at(f, LOG), &st), 0);
	assert_int_equal(truncate(at(f, LOG), st.st_size - 1), 0);
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_TORN, 5, "cut short");
	assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
	report = verify(f);
	expect_bad(&report, AUDIT_TORN, 5, "crash");
}

/* A crash leaves any part of the last line, and not its digest, which is written behind it. It is
 * told as a crash, now and when there is a new writer, which chains on. A digest that is there
 * knows that the line was whole. */
static void torn_at_each_byte(void **state)
{
	struct fixture *f = *state;
	autofree char *log = NULL, *security = NULL;
	struct audit_report report;
	char day[96] = "";
	size_t len, last, last_digest;

	begin(f);
	log = get_file(f, LOG);
	len = strlen(log);
	security = get_security_log(f, day, sizeof(day));
	last = begin_of_last_line(log);
	last_digest = begin_of_last_line(security);
	for (size_t cut = last + 1; cut < len; cut += 7) {
		for (int digest = 0; digest < 2; digest++) {
			put_file(f, LOG, log);
			put_file(f, day, security);
			assert_int_equal(truncate(at(f, LOG), (off_t)cut), 0);
			if (!digest)
				assert_int_equal(truncate(at(f, day), (off_t)last_digest), 0);
			report = verify(f);
			expect_bad(&report, digest ? AUDIT_BROKEN : AUDIT_TORN, 5,
				   digest ? "security log has" : "cut short");
			assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
			report = verify(f);
			expect_bad(&report, digest ? AUDIT_BROKEN : AUDIT_TORN, 5,
				   digest ? "security log has" : "crash");
			report = verify_with(f, false);
			expect_bad(&report, AUDIT_TORN, 5, "crash");
			assert_int_equal(report.lines, 7);
		}
	}
}

/* Who writes is killed at any moment: what is there is whole, and the next one goes on. */
static void a_killed_writer(void **state)
{
	struct fixture *f = *state;
	struct audit_report report;
	uint64_t lines = 5;

	begin(f);
	for (int round = 0; round < 20; round++) {
		pid_t pid = fork();

		if (pid == 0) {
			while (audit_note(&f->ws, &said, NULL) == 0)
				;
			_exit(1);
		}
		do {
			report = verify(f); /* beside the writer */
			assert_int_equal(report.verdict, AUDIT_OPEN);
		} while (report.lines < lines + (uint64_t)(round % 5) + 1);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
		report = verify(f);
		assert_int_equal(report.verdict, AUDIT_OPEN);
		/* Between the two writes a digest is lost, and with it no line. */
		assert_true(report.confirmed + (uint64_t)round + 1 >= report.lines);
		lines = report.lines;
	}
}

/* The lock and the lease leave one writer; if ever they are two, in turn, the chain holds. */
static void two_writers_in_turn(void **state)
{
	struct fixture *f = *state;
	struct audit audit = AUDIT_NONE;
	struct audit_report report;

	begin(f);
	assert_int_equal(audit_open(&f->ws, &audit, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
		assert_int_equal(audit_append(&audit, &said, STORE_NO_SYNC, NULL), 0);
	}
	append_raw(f, "{\"ts\":"); /* and one of them crashes */
	assert_int_equal(audit_append(&audit, &said, STORE_NO_SYNC, NULL), 0);
	audit_release(&audit);
	report = verify(f);
	expect_bad(&report, AUDIT_TORN, 12, "crash");
	assert_int_equal(report.lines, 14);
}

static void behind_the_end(void **state)
{
	struct fixture *f = *state;
	struct audit audit = AUDIT_NONE;
	struct audit_report report;

	begin(f);
	assert_int_equal(audit_open(&f->ws, &audit, NULL), 0);
	assert_int_equal(audit_finish(&audit, NULL), 0);
	audit_release(&audit);
	append_raw(f, "{}\n");
	report = verify(f);
	expect_bad(&report, AUDIT_BROKEN, 7, "behind the end");
}

/* Somebody else wrote to it under the writer's hand. */
static void foreign_lines(void **state)
{
	struct fixture *f = *state;
	struct audit audit = AUDIT_NONE;
	struct audit_report report;
	struct error err = {0};

	begin(f);
	assert_int_equal(audit_open(&f->ws, &audit, &err), 0);
	append_raw(f, "forged\n");
	assert_int_equal(audit_append(&audit, &said, STORE_NO_SYNC, &err), 0);
	report = verify(f);
	expect_bad(&report, AUDIT_BROKEN, 6, "no line");
	assert_int_equal(unlink(at(f, LOG)), 0);
	assert_int_equal(audit_append(&audit, &said, STORE_NO_SYNC, &err), -1);
	assert_non_null(strstr(err.msg, "was removed"));
	audit_release(&audit);
}

static void the_clock_is_set_back(void **state)
{
	struct fixture *f = *state;
	struct audit_event earlier = said;
	struct audit_report report;

	begin(f);
	earlier.real_ns = 86400 * (int64_t)NS_PER_S;
	assert_int_equal(audit_note(&f->ws, &earlier, NULL), 0);
	assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
	report = verify(f);
	assert_int_equal(report.verdict, AUDIT_OPEN);
	assert_int_equal(report.set_back, 1);
	assert_int_equal(report.confirmed, report.lines);
}

static void a_long_line_loses_its_data(void **state)
{
	struct fixture *f = *state;
	char *text = calloc(1, 100001);
	struct audit_event event = said;
	struct audit_report report;
	json_auto_t *data;

	begin(f);
	memset(text, 'x', 100000);
	data = json_pack("{s:s}", "text", text);
	event.data = data;
	free(text);
	assert_int_equal(audit_note(&f->ws, &event, NULL), 0);
	report = verify(f);
	assert_int_equal(report.verdict, AUDIT_OPEN);
	append_raw(f, "\n");
	report = verify(f);
	expect_bad(&report, AUDIT_BROKEN, 7, "no line");
}

/* No room: nothing of the line stays, and the log goes on when there is. */
static void without_room(void **state)
{
	struct fixture *f = *state;
	struct audit audit = AUDIT_NONE;
	struct audit_report report;
	struct rlimit was, small;
	struct stat st;
	struct error err = {0};

	begin(f);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(audit_open(&f->ws, &audit, &err), 0);
	assert_int_equal(stat(at(f, LOG), &st), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = (rlim_t)st.st_size + 100;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(audit_append(&audit, &said, STORE_NO_SYNC, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	report = verify(f);
	assert_int_equal(report.verdict, AUDIT_OPEN);
	assert_int_equal(report.lines, 5);
	assert_int_equal(audit_append(&audit, &said, STORE_NO_SYNC, &err), 0);
	report = verify(f);
	assert_int_equal(report.lines, 6);
	audit_release(&audit);
}

static void tell_digest(struct fixture *f, const char *text)
{
	SHA2_CTX sha;
	char hex[SHA256_DIGEST_STRING_LENGTH];

	SHA256Init(&sha);
	SHA256Update(&sha, (const uint8_t *)text, strlen(text));
	json_auto_t *data = json_pack("{s:I, s:s}", "bytes", (json_int_t)strlen(text), "sha256",
				      SHA256End(&sha, hex));
	const struct audit_event event = {
		.subsystem = "telemetry", .event = "telemetry.digest", .data = data};
	assert_int_equal(audit_note(&f->ws, &event, NULL), 0);
}

static void expect_telemetry(struct fixture *f, const char *text,
			     enum audit_telemetry_verdict verdict, uint64_t confirmed,
			     uint64_t line)
{
	struct audit_telemetry found;
	struct error err = {0};
	autoclose int log = open(at(f, LOG), O_RDONLY | O_CLOEXEC);

	if (text)
		put_file(f, "agent-1/" AUDIT_TELEMETRY, text);
	autoclose int fd =
		text ? open(at(f, "agent-1/" AUDIT_TELEMETRY), O_RDONLY | O_CLOEXEC) : -1;
	assert_int_equal(audit_verify_telemetry(log, fd, &found, &err), 0);
	assert_string_equal(audit_telemetry_names[found.verdict], audit_telemetry_names[verdict]);
	assert_int_equal(found.confirmed, confirmed);
	assert_int_equal(found.line, line);
	assert_int_equal(found.bytes, text ? strlen(text) : 0);
}

/* Lines 6, 7 and 8 of the log have digests. */
static void telemetry(void **state)
{
	struct fixture *f = *state;

	begin(f);
	expect_telemetry(f, NULL, AUDIT_TELEMETRY_NONE, 0, 0);
	tell_digest(f, ""); /* all of it was dropped */
	expect_telemetry(f, NULL, AUDIT_TELEMETRY_NONE, 0, 0);
	tell_digest(f, "one\n");
	tell_digest(f, "one\ntwo\n");
	expect_telemetry(f, "one\ntwo\n", AUDIT_TELEMETRY_WHOLE, 8, 0);
	expect_telemetry(f, "one\ntwo\nthree\n", AUDIT_TELEMETRY_WHOLE, 8, 0);
	expect_telemetry(f, "one\nTwo\n", AUDIT_TELEMETRY_ALTERED, 4, 8);
	expect_telemetry(f, "One\ntwo\n", AUDIT_TELEMETRY_ALTERED, 0, 7);
	expect_telemetry(f, "one\n", AUDIT_TELEMETRY_ALTERED, 4, 8);
	expect_telemetry(f, NULL, AUDIT_TELEMETRY_MISSING, 0, 7);
	tell_digest(f, "one\n"); /* it has become shorter */
	expect_telemetry(f, "one\ntwo\n", AUDIT_TELEMETRY_ALTERED, 8, 9);
}

static const char *archive_of(struct fixture *f, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/" ARCHIVE_DIR "/%s", f->path, name);
	return path;
}

static void expect_archive(struct fixture *f)
{
	static const char *const names[] = {AUDIT_LOG, AUDIT_TELEMETRY, "events.json",
					    "session.json"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[64];

		snprintf(path, sizeof(path), "agent-1/%s", names[i]);
		assert_int_equal(access(archive_of(f, path), F_OK), 0);
		assert_int_equal(access(at(f, path), F_OK), 0);
	}
	assert_int_equal(access(archive_of(f, ".making-agent-1"), F_OK), -1);
	assert_int_equal(verify(f).verdict, AUDIT_CLOSED);
	assert_int_equal(verify(f).lines, 7); /* opened, four, destroyed, closed */
}

static void archived(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	begin(f);
	put_file(f, "agent-1/events.json", "[]");
	put_file(f, "agent-1/" AUDIT_TELEMETRY, "{}\n");
	assert_int_equal(audit_archive(&f->ws, &err), 0);
	expect_archive(f);
	assert_int_equal(audit_archive(&f->ws, &err), 0); /* killed behind it */
	expect_archive(f);
	/* Killed within it: it has another name yet. */
	assert_int_equal(rename(archive_of(f, "agent-1"), at(f, "elsewhere")), 0);
	assert_int_equal(mkdir(archive_of(f, ".making-agent-1"), 0700), 0);
	assert_int_equal(mkdir(archive_of(f, ".making-agent-1/" AUDIT_LOG), 0700), 0);
	assert_int_equal(audit_archive(&f->ws, &err), 0);
	expect_archive(f);
	/* Somebody has taken the log out of the bundle: it is not begun anew. */
	assert_int_equal(unlink(at(f, LOG)), 0);
	assert_int_equal(audit_archive(&f->ws, &err), 0);
	assert_int_equal(access(at(f, LOG), F_OK), -1);
}

static void an_archive_of_another(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	begin(f);
	assert_int_equal(mkdir(archive_of(f, ""), 0700), 0);
	assert_int_equal(mkdir(archive_of(f, "agent-1"), 0700), 0);
	assert_int_equal(audit_archive(&f->ws, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_non_null(strstr(err.msg, "there is an archive of another agent-1"));
}

/* What is no file is not written through, and not kept. */
static void links_in_a_bundle(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};
	struct stat st;

	begin(f);
	put_file(f, "outside", "mine");
	assert_int_equal(unlink(at(f, LOG)), 0);
	assert_int_equal(symlink("../outside", at(f, LOG)), 0);
	assert_int_equal(symlink("../outside", at(f, "agent-1/" AUDIT_TELEMETRY)), 0);
	assert_int_equal(audit_archive(&f->ws, &err), 0);
	autofree char *text = get_file(f, "outside");
	assert_string_equal(text, "mine");
	assert_int_equal(lstat(archive_of(f, "agent-1/" AUDIT_TELEMETRY), &st), -1);
	assert_int_equal(lstat(archive_of(f, "agent-1/" AUDIT_LOG), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	/* The security log knows of the one that was there. */
	assert_int_equal(verify(f).verdict, AUDIT_BROKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(a_whole_log),
		store_test(no_session_has_no_log),
		store_test(altered_lines),
		store_test(a_torn_tail),
		store_test(a_tail_without_its_newline),
		store_test(torn_at_each_byte),
		store_test(a_killed_writer),
		store_test(two_writers_in_turn),
		store_test(behind_the_end),
		store_test(foreign_lines),
		store_test(the_clock_is_set_back),
		store_test(a_long_line_loses_its_data),
		store_test(without_room),
		store_test(telemetry),
		store_test(archived),
		store_test(an_archive_of_another),
		store_test(links_in_a_bundle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
