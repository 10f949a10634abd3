/* SPDX-License-Identifier: MIT */
/* Tests the audit log if its writer is killed, its host has no room, or its end is torn. */
#include "test_store_audit.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/limits.h"

/* Returns today's security log, and its name below f. */
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
	/* A log that looks like a crash and was none. */
	lines = take_lines(f);
	free(lines.text[1]);
	lines.text[1] = strdup("{\"ts\":\"20");
	put_lines(f, &lines);
	report = verify_with(f, false);
	expect_bad(&report, AUDIT_BROKEN, 2, "not a line");
	free_lines(&lines);
}

/* Only the newline is missing: the line is whole, and its writer never knew that it was written. */
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

/* A crash leaves any part of the last line, and not its digest, which is written after it. It is
 * reported as a crash, now and when there is a new writer, which continues the chain. An existing
 * digest shows that the line was whole. */
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

/* The writer is killed at any moment: its lines are whole, and the next writer goes on. */
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
		/* A kill between the two writes loses a digest, and no line. */
		assert_true(report.confirmed + (uint64_t)round + 1 >= report.lines);
		lines = report.lines;
	}
}

/* The lock and the lease leave one writer. If there are ever two in turn, the chain still holds. */
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

/* Without room nothing of the line stays, and the log goes on when there is room. */
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

static void nothing_there(struct fixture *f)
{
	assert_int_equal(unlink(at(f, LOG)), 0);
}

static void a_copy_there(struct fixture *f)
{
	autofree char *text = get_file(f, LOG);

	nothing_there(f);
	put_file(f, LOG, text);
}

static void a_link_there(struct fixture *f)
{
	nothing_there(f);
	assert_int_equal(symlink("session.json", at(f, LOG)), 0);
}

static void a_directory_there(struct fixture *f)
{
	nothing_there(f);
	assert_int_equal(mkdir(at(f, LOG), 0700), 0);
	put_file(f, LOG "/file", "x");
}

static const struct {
	enum audit_tampering is;
	void (*put)(struct fixture *f);
} in_its_place[] = {{AUDIT_REMOVED, nothing_there},
		    {AUDIT_REPLACED, a_copy_there},
		    {AUDIT_REPLACED, a_link_there},
		    {AUDIT_REPLACED, a_directory_there}};

/* A writer has the log open while somebody removes it. The writer goes on, and puts the whole log
 * back under its name. */
static void a_log_is_put_back(void **state)
{
	struct fixture *f = *state;
	struct audit audit = AUDIT_NONE;
	struct audit_report report;
	struct stat st;

	begin(f);
	assert_int_equal(audit_open(&f->ws, &audit, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(in_its_place); i++) {
		assert_int_equal(audit_tampering(&audit), AUDIT_UNTOUCHED);
		in_its_place[i].put(f);
		assert_int_equal(audit_tampering(&audit), in_its_place[i].is);
		assert_int_equal(audit_append(&audit, &said, STORE_SYNC, NULL), 0);
		put_file(f, LOG ".copy", "of a writer that was killed");
		assert_int_equal(audit_put_back(&audit, NULL), 0);
		assert_int_equal(audit_append(&audit, &said, STORE_SYNC, NULL), 0);
		report = verify(f);
		assert_int_equal(report.verdict, AUDIT_OPEN);
		assert_int_equal(report.lines, 5 + 2 * (i + 1));
		assert_int_equal(report.confirmed, report.lines);
		assert_int_equal(lstat(at(f, LOG ".copy"), &st), -1);
	}
	append_raw(f, "{}\n");
	assert_int_equal(audit_tampering(&audit), AUDIT_LENGTHENED);
	assert_int_equal(truncate(at(f, LOG), 5), 0);
	assert_int_equal(audit_tampering(&audit), AUDIT_SHORTENED);
	audit_release(&audit);
}

/* Without room for a copy nothing of it is left. Lines go where they went before, until there is
 * room. */
static void a_log_cannot_be_put_back(void **state)
{
	struct fixture *f = *state;
	struct audit audit = AUDIT_NONE;
	struct audit_report report;
	struct rlimit was, small;
	struct error err = {0};
	struct stat st;

	begin(f);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(audit_open(&f->ws, &audit, &err), 0);
	a_copy_there(f);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = 10;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(audit_put_back(&audit, &err), -1);
	assert_non_null(strstr(err.msg, "copy to audit.log.copy: "));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(lstat(at(f, LOG ".copy"), &st), -1);
	assert_int_equal(audit_append(&audit, &said, STORE_SYNC, NULL), 0);
	report = verify(f); /* before it is back the line is missed */
	expect_bad(&report, AUDIT_BROKEN, 6, "security log has its digest");
	assert_int_equal(audit_put_back(&audit, NULL), 0);
	report = verify(f);
	assert_int_equal(report.verdict, AUDIT_OPEN);
	assert_int_equal(report.confirmed, 6);
	audit_release(&audit);
}

/* A session that has been started has had lines. A writer that opens its log and finds none raises
 * an alarm, once. A session that was only cloned, and a sandbox of microagent-oci, have no log yet
 * and begin one. */
static void a_log_whose_lines_are_gone(void **state)
{
	struct fixture *f = *state;
	char day[96];

	begin(f);
	put_file(f, "agent-1/supervisor.log", "");
	for (int i = 0; i < 2; i++)
		assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
	autofree char *whole = get_file(f, LOG);
	assert_null(strstr(whole, "audit.changed"));
	nothing_there(f);
	for (int i = 0; i < 2; i++)
		assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
	autofree char *begun = get_file(f, LOG);
	assert_non_null(
		strstr(begun, "\"CRITICAL\",\"subsystem\":\"audit\",\"event\":\"audit.changed\""));
	assert_ptr_equal(strstr(strstr(begun, "audit.changed") + 1, "audit.changed"), NULL);
	autofree char *security = get_security_log(f, day, sizeof(day));
	assert_non_null(strstr(security, "\"data\":{\"how\":\"removed\"}"));
	nothing_there(f);
	assert_int_equal(unlink(at(f, "agent-1/session.json")), 0);
	put_file(f, "agent-1/" SANDBOX_RECORD, "{}");
	assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
	autofree char *sandbox = get_file(f, LOG);
	assert_null(strstr(sandbox, "audit.changed"));
}

static void away(const char *path)
{
	char to[PATH_MAX];

	snprintf(to, sizeof(to), "%s.kept", path);
	assert_int_equal(rename(path, to), 0);
}

static void away_with_another_there(const char *path)
{
	away(path);
	close(open(path, O_WRONLY | O_CREAT, 0600));
}

static void no_more(const char *path)
{
	assert_int_equal(unlink(path), 0);
}

static void short_of_all(const char *path)
{
	assert_int_equal(truncate(path, 0), 0);
}

static const struct {
	enum audit_tampering is;
	void (*take)(const char *path);
} taken[] = {{AUDIT_SECURITY_REMOVED, no_more},
	     {AUDIT_SECURITY_MOVED, away},
	     {AUDIT_SECURITY_MOVED, away_with_another_there},
	     {AUDIT_SECURITY_SHORTENED, short_of_all}};

static enum audit_tampering take_tampering(struct audit *audit)
{
	enum audit_tampering found = audit->security_tampering;

	audit->security_tampering = AUDIT_UNTOUCHED;
	return found;
}

/* Somebody takes the security log away from its writer. The next line is in the file at the
 * path. */
static void a_security_log_is_taken(void **state)
{
	struct fixture *f = *state;
	struct audit audit = AUDIT_NONE;
	struct audit_report report;
	char day[96];

	begin(f);
	assert_int_equal(audit_open(&f->ws, &audit, NULL), 0);
	assert_int_equal(audit_append(&audit, &said, STORE_SYNC, NULL), 0);
	free(get_security_log(f, day, sizeof(day)));
	for (size_t i = 0; i < 2 * ARRAY_SIZE(taken); i++) {
		security_log_look(&audit);
		assert_int_equal(take_tampering(&audit), AUDIT_UNTOUCHED);
		taken[i / 2].take(at(f, day));
		if (i % 2 == 0)
			security_log_look(&audit);
		assert_int_equal(audit_append(&audit, &said, STORE_SYNC, NULL), 0);
		assert_int_equal(take_tampering(&audit), taken[i / 2].is);
		report = verify(f);
		assert_int_equal(report.verdict, AUDIT_OPEN);
		assert_int_equal(report.confirmed, 1);
	}
	audit_release(&audit);
}

static void append_as_another(const char *path, const char *text)
{
	autofile FILE *file = fopen(path, "a");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
}

/* Lines that other processes have appended after our last one, for sessions that are over by
 * now. */
static void a_security_log_loses_others_lines(void **state)
{
	static const char other[] = "{\"ts\":\"\",\"session\":\"agent-2\"}\n";
	static const char filled[] = "{\"ts\":\"\",\"session\":\"agent-3\"}\n";
	struct fixture *f = *state;
	struct audit audit = AUDIT_NONE;
	struct stat st;
	char day[96];

	begin(f);
	assert_int_equal(audit_open(&f->ws, &audit, NULL), 0);
	assert_int_equal(audit_append(&audit, &said, STORE_SYNC, NULL), 0);
	free(get_security_log(f, day, sizeof(day)));
	assert_int_equal(stat(at(f, day), &st), 0);
	for (int i = 0; i < 4; i++) {
		append_as_another(at(f, day), other);
		security_log_look(&audit);
		assert_int_equal(take_tampering(&audit), AUDIT_UNTOUCHED);
		assert_int_equal(truncate(at(f, day), st.st_size), 0);
		/* Filled up to the same length, and further. */
		for (int times = 0; times < i; times++)
			append_as_another(at(f, day), filled);
		if (i % 2 == 0)
			security_log_look(&audit);
		assert_int_equal(audit_append(&audit, &said, STORE_SYNC, NULL), 0);
		assert_int_equal(take_tampering(&audit), AUDIT_SECURITY_SHORTENED);
		security_log_look(&audit);
		assert_int_equal(take_tampering(&audit), AUDIT_UNTOUCHED);
		assert_int_equal(stat(at(f, day), &st), 0);
	}
	audit_release(&audit);
}

/* A file that logrotate does not compress still has its lines. */
static void a_security_log_is_rotated(void **state)
{
	struct fixture *f = *state;
	char day[96], one[112], packed[112];
	struct audit_report report;

	begin(f);
	free(get_security_log(f, day, sizeof(day)));
	snprintf(one, sizeof(one), "%s.1", day);
	snprintf(packed, sizeof(packed), "%s.1.gz", day);
	assert_int_equal(renameat(f->dir.fd, day, f->dir.fd, one), 0);
	assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
	report = verify(f);
	assert_int_equal(report.confirmed, 6);
	assert_int_equal(renameat(f->dir.fd, one, f->dir.fd, packed), 0);
	report = verify(f);
	assert_int_equal(report.confirmed, 1);
}

/* A question to the broker, as src/store/security_log.c sends it. */
struct security_question {
	int step; /* 0: look, 1: append, 2: sync */
	int sync;
};

static int ask_as_supervisor(struct audit *audit, const void *question, size_t len,
			     struct broker_message *out, struct error *err)
{
	static struct broker_message in;

	memcpy(in.bytes, question, len);
	in.bytes[len] = '\0';
	in.len = len;
	out->len = out->nfds = 0;
	return security_log_duty.fn(audit, &in, out, err);
}

static int append_as_supervisor(struct audit *audit, const char *text, struct error *err)
{
	static struct broker_message out;
	const struct security_question question = {.step = 1};
	size_t len = sizeof(question) + strlen(text);
	autofree char *bytes = malloc(len);
	int status;

	assert_non_null(bytes);
	memcpy(bytes, &question, sizeof(question));
	memcpy(bytes + sizeof(question), text, strlen(text));
	status = ask_as_supervisor(audit, bytes, len, &out, err);
	assert_int_equal(out.nfds, 0);
	return status;
}

/* A supervisor that was taken over gets one line of its own session appended, to today's file, and
 * no descriptor. */
static void a_broker_appends_own_lines(void **state)
{
	static const char *const refused[] = {
		"",
		"x",
		"[]",
		"{}",
		"{\"ts\":\"\",\"event\":\"test.own\"}",
		"{\"ts\":\"\",\"event\":\"test.own\",\"session\":\"agent-2\"}",
		"{\"ts\":\"\",\"event\":\"test.own\",\"session\":\"agent-1\"}\n{}",
		"{\"ts\":\"\",\"event\":\"test.own\",\"session\":\"agent-2\",\"session\":\"agent-1\"}",
		"{\"ts\":\"\",\"event\":\"archive.removed\",\"session\":\"agent-1\"}",
		"{\"ts\":\"\",\"event\":\"audit.closed\",\"session\":\"agent-1\"}",
		"{\"ts\":\"\",\"event\":\"session.destroyed\",\"session\":\"agent-1\"}",
		"{\"ts\":\"\",\"event\":\"session.orphaned\",\"session\":\"agent-1\"}",
		"{\"event\":\"test.own\",\"session\":\"agent-1\"}",
		"{\"event\":\"test.own\",\"session\":\"agent-1\",\"ts\":\"\"}",
		"{\"ts\":\"\",\"event\":\"test.own\",\"session\":\"agent-1\",\"data\":[{ \"ts\" :\"\","
		"\"event\":\"archive.removed\",\"session\":\"agent-2\"}]}",
	};
	/* Returns the questions to the broker before it wrote itself, with a byte for "open" after
	 * them. */
	static const char earlier_day[32] = "2026-11-26\0\1";
	static struct broker_message out;
	struct fixture *f = *state;
	struct audit audit = AUDIT_NONE;
	struct error err = {0};
	char day[96], other[96];

	begin(f);
	snprintf(audit.session, sizeof(audit.session), "agent-1");
	audit.logs = strdup(at(f, "../logs"));
	autofree char *before = get_security_log(f, day, sizeof(day));
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_int_equal(append_as_supervisor(&audit, refused[i], &err), -1);
	assert_non_null(strstr(
		err.msg,
		"the broker refuses to write a line for session agent-1 to the security log, because a supervisor may not write this event, or it is about another session"));
	(void)ask_as_supervisor(&audit, earlier_day, sizeof(earlier_day), &out, &err);
	assert_int_equal(out.nfds, 0);
	autofree char *after = get_security_log(f, other, sizeof(other));
	assert_string_equal(other, day);
	assert_string_equal(after, before);
	assert_int_equal(append_as_supervisor(&audit,
					      "{\"ts\": \"\", \"event\":\"test.own\",\r"
					      "\"session\":\"agent-1\"}",
					      &err),
			 0);
	autofree char *appended = get_security_log(f, other, sizeof(other));
	assert_string_equal(other, day);
	assert_string_equal(appended + strlen(before),
			    "{\"ts\":\"\",\"event\":\"test.own\",\"session\":\"agent-1\"}\n");
	audit_release(&audit);
}

/* Pads its end with letters, so that it has `len` bytes. */
static char *padded_line(const char *begin, const char *end, size_t len)
{
	size_t front = strlen(begin), back = strlen(end);
	char *text = malloc(len + 1);

	assert_true(text && front + back <= len);
	memset(text, 'p', len);
	memcpy(text, begin, front);
	memcpy(text + len - back, end, back + 1);
	return text;
}

/* It is no longer than readers take for one line. Of a longer one they would see parts. */
static void a_broker_appends_no_line_that_is_too_long(void **state)
{
	static const char begin_of_own[] =
		"{\"ts\":\"\\\"ts\\\":\",\"event\":\"test.own\",\"session\":\"agent-1\",\"data\":\"";
	const size_t most = limit_get(LIMIT_AUDIT_LINE_BYTES) - 1; /* and its newline */
	struct fixture *f = *state;
	struct audit audit = AUDIT_NONE;
	struct error err = {0};
	char day[96];

	begin(f);
	snprintf(audit.session, sizeof(audit.session), "agent-1");
	audit.logs = strdup(at(f, "../logs"));
	autofree char *longest = padded_line(begin_of_own, "\"}", most);
	autofree char *longer = padded_line(begin_of_own, "\"}", most + 1);
	assert_int_equal(append_as_supervisor(&audit, longer, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	assert_int_equal(append_as_supervisor(&audit, longest, &err), 0);
	autofree char *log = get_security_log(f, day, sizeof(day));
	assert_int_equal(strcspn(log + begin_of_last_line(log), "\n"), most);
	audit_release(&audit);
}

/* Another session's line is too long, and has parts that look like lines of this session. Each part
 * ends with one, at a different place. None is read, and later lines are read. */
static void parts_of_a_line_that_is_too_long(void **state)
{
	static const char forged[] =
		"{\"ts\":\"\",\"event\":\"archive.removed\",\"session\":\"agent-1\",\"seq\":2,\"head\":"
		"\"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\"}";
	static const char foreign[] =
		"{\"ts\":\"\",\"event\":\"x\",\"session\":\"agent-2\",\"data\":[\"";
	const size_t part = limit_get(LIMIT_AUDIT_LINE_BYTES);
	struct fixture *f = *state;
	struct audit_report report;
	char day[96];

	begin(f);
	for (size_t parts = 1; parts <= 3; parts++) {
		for (int ends = 0; ends < 2; ends++) {
			autofree char *text = padded_line(foreign, forged, parts * part);
			struct audit_heads heads = {0};
			struct error err = {0};

			free(get_security_log(f, day, sizeof(day)));
			{
				autofile FILE *file = fopen(at(f, day), "a");
				assert_true(fprintf(file, "%s%s\n", text, ends ? "" : "\"]}") > 0);
			}
			assert_int_equal(audit_heads_load(f->path, "agent-1", &heads, &err), 0);
			assert_false(heads.archive_removed);
			audit_heads_free(&heads);
			assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
			report = verify(f);
			assert_string_equal(report.why, "");
			assert_int_equal(report.verdict, AUDIT_OPEN);
			assert_int_equal(report.confirmed, 5 + 2 * parts - 1 + (size_t)ends);
		}
	}
}

/* Somebody locks the log and never unlocks it. Readers and writers go on without the lock. */
static void a_log_that_stays_locked(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	begin(f);
	autoclose int other = open(at(f, LOG), O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX), 0);
	limit_set(LIMIT_AUDIT_LOCK_MS, 20);
	alarm(60);
	assert_int_equal(verify(f).verdict, AUDIT_OPEN);
	assert_int_equal(audit_note(&f->ws, &said, &err), 0);
	assert_int_equal(verify(f).confirmed, 6);
	alarm(0);
	limit_reset(LIMIT_AUDIT_LOCK_MS);
}

/* A reader waits for a writer that unlocks it in time. */
static void a_log_that_is_locked_for_a_moment(void **state)
{
	struct fixture *f = *state;
	struct audit_report report;
	int ready[2], status;
	char byte;
	pid_t pid;

	begin(f);
	assert_int_equal(fd_pipe(ready, NULL), 0);
	limit_set(LIMIT_AUDIT_LOCK_MS, 60000);
	pid = fork();
	if (pid == 0) {
		int fd = open(at(f, LOG), O_WRONLY | O_APPEND | O_CLOEXEC);
		bool done = flock(fd, LOCK_EX) == 0 && write(fd, "half a ", 7) == 7 &&
			    write(ready[1], "x", 1) == 1;

		usleep(50000);
		_exit(done && write(fd, "line\n", 5) == 5 ? 0 : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	/* Half a line would be a torn one. */
	report = verify(f);
	expect_bad(&report, AUDIT_BROKEN, 6, "not a line");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ready[0]);
	close(ready[1]);
	limit_reset(LIMIT_AUDIT_LOCK_MS);
}

/* A command that cannot write the log reports an alarm to the security log, and nothing else. */
static void an_alarm_without_a_log(void **state)
{
	static const struct audit_event alarm = {AUDIT_CRITICAL, "test", "test.alarm", NULL, 0};
	struct fixture *f = *state;
	struct error err = {0};
	char day[96];

	begin(f);
	a_directory_there(f);
	assert_int_equal(audit_note(&f->ws, &said, &err), -1);
	assert_int_equal(audit_note(&f->ws, &alarm, &err), -1);
	assert_non_null(strstr(err.msg, AUDIT_LOG));
	autofree char *security = get_security_log(f, day, sizeof(day));
	assert_non_null(strstr(security, "\"event\":\"test.alarm\",\"session\":\"agent-1\","
					 "\"data\":{}}\n"));
	assert_null(strstr(security, "\"seq\":6"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(a_torn_tail),
		store_test(a_tail_without_its_newline),
		store_test(torn_at_each_byte),
		store_test(a_killed_writer),
		store_test(two_writers_in_turn),
		store_test(without_room),
		store_test(a_log_is_put_back),
		store_test(a_log_cannot_be_put_back),
		store_test(an_alarm_without_a_log),
		store_test(a_log_whose_lines_are_gone),
		store_test(a_security_log_is_taken),
		store_test(a_security_log_loses_others_lines),
		store_test(a_security_log_is_rotated),
		store_test(a_broker_appends_own_lines),
		store_test(a_broker_appends_no_line_that_is_too_long),
		store_test(parts_of_a_line_that_is_too_long),
		store_test(a_log_that_stays_locked),
		store_test(a_log_that_is_locked_for_a_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
