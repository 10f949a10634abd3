/* SPDX-License-Identifier: MIT */
/* Tests the audit log: it is written and altered in every way, and the verdict is checked. */
#include "test_store_audit.h"

#include "base/json.h"
#include "base/limits.h"

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

/* Exchanges lines 3 and 4. */
static void exchange(struct lines *lines)
{
	char *third = lines->text[2];

	lines->text[2] = lines->text[3];
	lines->text[3] = third;
}

/* The line after it no longer fits, and the security log shows it at once. */
static void an_edited_line(void **state)
{
	struct fixture *f = *state;
	struct lines lines;
	struct audit_report report;

	begin(f);
	lines = take_lines(f);
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
	expect_bad(&report, AUDIT_BROKEN, 3, "not a line of an audit log");
	free_lines(&lines);
}

/* Taken out, put in, put in another order. */
static void moved_lines(void **state)
{
	struct fixture *f = *state;
	struct lines lines;
	struct audit_report report;
	char *second;

	begin(f);
	lines = take_lines(f);
	second = lines.text[1];
	memmove(&lines.text[1], &lines.text[2], 3 * sizeof(char *));
	lines.count--;
	put_lines(f, &lines);
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_BROKEN, 2, "its seq is 3");
	memmove(&lines.text[2], &lines.text[1], 3 * sizeof(char *));
	lines.text[1] = second;
	lines.count += 2;
	lines.text[5] = strdup(lines.text[4]);
	put_lines(f, &lines);
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_BROKEN, 6, "its seq is 5");
	free(lines.text[--lines.count]);
	exchange(&lines);
	put_lines(f, &lines);
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_BROKEN, 3, "its seq is 4");
	free_lines(&lines);
}

/* Its end is cut off, or all of it: only the security log can show that. */
static void missing_lines(void **state)
{
	struct fixture *f = *state;
	struct lines lines;
	struct audit_report report;

	begin(f);
	lines = take_lines(f);
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
	expect_bad(&report, AUDIT_BROKEN, 7, "after the line that closes the log");
}

/* Another process wrote to it while the writer had it. */
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
	expect_bad(&report, AUDIT_BROKEN, 6, "not a line");
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

/* A log ends where it would be too long to be read, except for its last words. */
static void a_full_log(void **state)
{
	struct fixture *f = *state;
	struct audit audit = AUDIT_NONE;
	struct audit_report report;
	struct error err = {0};
	uint64_t most = limit_get(LIMIT_AUDIT_FILE_BYTES);

	begin(f);
	assert_int_equal(audit_open(&f->ws, &audit, &err), 0);
	limit_set(LIMIT_AUDIT_FILE_BYTES, (uint64_t)audit.end + 1);
	assert_int_equal(audit_append(&audit, &said, STORE_SYNC, &err), 0);
	assert_int_equal(audit_append(&audit, &said, STORE_SYNC, &err), -1);
	assert_string_equal(err.msg,
			    "audit.log of agent-1 is full, so nothing more is written to it");
	assert_int_equal(audit_finish(&audit, &err), 0);
	audit_release(&audit);
	report = verify(f);
	assert_int_equal(report.verdict, AUDIT_CLOSED);
	assert_int_equal(report.lines, 7);
	/* One byte too many, and nothing of it is read. */
	assert_int_equal(truncate(at(f, LOG), audit_most_bytes() + 1), 0);
	report = verify(f);
	expect_bad(&report, AUDIT_BROKEN, 1, "another program has lengthened it");
	assert_int_equal(audit_open(&f->ws, &audit, &err), -1);
	assert_non_null(strstr(err.msg, "/agent-1: audit.log: the file has "));
	limit_set(LIMIT_AUDIT_FILE_BYTES, most);
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
	expect_bad(&report, AUDIT_BROKEN, 7, "not a line");
}

static void tell_digest(struct fixture *f, const char *text)
{
	struct sha256 sha;
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_TEXT];

	sha256_init(&sha);
	sha256_update(&sha, text, strlen(text));
	sha256_final(&sha, digest);
	sha256_hex(digest, hex);
	json_auto_t *data =
		json_pack("{s:I, s:s}", "bytes", (json_int_t)strlen(text), "sha256", hex);
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
	/* opened, four, the late digest, destroyed, closed */
	assert_int_equal(verify(f).lines, 8);
	autofree char *log = get_file(f, LOG);
	assert_non_null(strstr(log, "\"records\":1,\"late\":3}"));
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
	/* Killed within it: the log still has another name. */
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
	assert_non_null(strstr(err.msg, "there is already an archive of another session agent-1"));
}

/* A thing that is no file is not written through, and not kept. */
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
	/* The security log knows the log that was there. */
	assert_int_equal(verify(f).verdict, AUDIT_BROKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(a_whole_log),
		store_test(no_session_has_no_log),
		store_test(an_edited_line),
		store_test(moved_lines),
		store_test(missing_lines),
		store_test(behind_the_end),
		store_test(foreign_lines),
		store_test(the_clock_is_set_back),
		store_test(a_full_log),
		store_test(a_long_line_loses_its_data),
		store_test(telemetry),
		store_test(archived),
		store_test(an_archive_of_another),
		store_test(links_in_a_bundle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
