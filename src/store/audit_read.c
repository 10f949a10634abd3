/* SPDX-License-Identifier: MIT */
/* Reads an audit log and checks it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/audit_line.h"

#define CHUNK 65536u

const char *const audit_verdict_names[] = {[AUDIT_OPEN] = "open",
					   [AUDIT_CLOSED] = "closed",
					   [AUDIT_TORN] = "torn",
					   [AUDIT_BROKEN] = "broken",
					   [AUDIT_UNCONFIRMED] = "unconfirmed"};

/* --- lines ----------------------------------------------------------------------------------- */

/* The largest number of lines that a log can have beyond its limit. The line that reaches the limit
 * may be longer than the rest of the allowed bytes. After that line, a writer writes only the last
 * lines of the log. */
#define LINES_ABOVE_LIMIT 16

off_t audit_most_bytes(void)
{
	return (off_t)(limit_get(LIMIT_AUDIT_FILE_BYTES) +
		       LINES_ABOVE_LIMIT * limit_get(LIMIT_AUDIT_LINE_BYTES));
}

off_t audit_telemetry_most_bytes(void)
{
	return (off_t)limit_get(LIMIT_TELEMETRY_BYTES);
}

#define LOOK_MS 1

/* Takes the lock that a writer has while it writes. Returns false at the deadline: a process that
 * holds the lock for so long is not a writer of microagent, and must not stop the reader. Tries the
 * lock every LOOK_MS instead of calling flock_until(), which starts a process. A live supervisor,
 * which may not start processes, reads its log too. */
static bool lock_between_writes(int fd)
{
	uint64_t deadline = limit_deadline(LIMIT_AUDIT_LOCK_MS);

	while (flock(fd, LOCK_SH | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || clock_is_virtual() || clock_mono_ns() >= deadline)
			return false;
		(void)poll(NULL, 0, LOOK_MS);
	}
	return true;
}

/* Finds the size of the file at a moment when its writer is not writing. */
static int whole_size(int fd, off_t most, off_t *out, struct error *err)
{
	bool locked = lock_between_writes(fd);
	struct stat st;
	int status = fstat(fd, &st);

	if (locked)
		(void)flock(fd, LOCK_UN);
	if (status < 0)
		return error_errno(err, errno, "log");
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"the log is not a regular file, so microagent did not write it: move it away");
	if (st.st_size > most)
		return error_set(
			err, ERR_IO,
			"the file has %lld bytes, and microagent writes no more than %lld: another program has lengthened it",
			(long long)st.st_size, (long long)most);
	*out = st.st_size;
	return 0;
}

bool audit_is_too_long(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > audit_most_bytes();
}

/* Returns the length in bytes of the next line in buf. If the line is too long, returns the length
 * of its next part. Returns 0 if more bytes must be read first. */
static size_t next_piece(const struct buf *buf, bool at_end, size_t most)
{
	const uint8_t *newline = memchr(buf_bytes(buf), '\n', buf->len);
	size_t len = newline ? (size_t)(newline - buf_bytes(buf)) + 1 : 0;

	if (newline && len <= most)
		return len;
	if (newline || buf->len >= most)
		return most;
	return at_end ? buf->len : 0;
}

static int hand_over_line(struct buf *buf, bool at_end, audit_line_fn *fn, void *data,
			  struct error *err)
{
	size_t most = limit_get(LIMIT_AUDIT_LINE_BYTES), len;

	while (buf->len > 0 && (len = next_piece(buf, at_end, most)) > 0) {
		if (fn(data, (const char *)buf_bytes(buf), len, err) < 0)
			return -1;
		buf_consume(buf, len);
	}
	return 0;
}

int audit_each_line(int fd, off_t most, audit_line_fn *fn, void *data, struct error *err)
{
	autobuf struct buf buf = BUF_INIT(limit_get(LIMIT_AUDIT_LINE_BYTES) + 2 * (size_t)CHUNK);
	off_t size = 0, at = 0;

	if (whole_size(fd, most, &size, err) < 0)
		return -1;
	while (at < size) {
		size_t want = size - at < (off_t)CHUNK ? (size_t)(size - at) : CHUNK;
		uint8_t *room = buf_reserve(&buf, want, err);
		ssize_t n = room ? pread(fd, room, want, at) : -1;

		if (n < 0 && room && errno == EINTR)
			continue;
		if (n < 0)
			return room ? error_errno(err, errno, "log") : -1;
		if (n == 0)
			break; /* the file became shorter while it was read, so its end is here */
		buf_commit(&buf, (size_t)n);
		at += n;
		if (hand_over_line(&buf, false, fn, data, err) < 0)
			return -1;
	}
	return hand_over_line(&buf, true, fn, data, err);
}

struct whole_lines {
	audit_line_fn *fn;
	void *data;
	bool within; /* a part of a long line was read, and more parts follow */
};

static int take_whole_line(void *data, const char *text, size_t len, struct error *err)
{
	struct whole_lines *lines = data;
	bool ends = text[len - 1] == '\n';
	bool is_part = lines->within || (!ends && len >= limit_get(LIMIT_AUDIT_LINE_BYTES));

	lines->within = is_part && !ends;
	return is_part ? 0 : lines->fn(lines->data, text, len, err);
}

int audit_each_whole_line(int fd, off_t most, audit_line_fn *fn, void *data, struct error *err)
{
	struct whole_lines lines = {.fn = fn, .data = data};

	return audit_each_line(fd, most, take_whole_line, &lines, err);
}

/* --- the chain ------------------------------------------------------------------------------- */

struct check {
	const char *session;
	const struct audit_heads *heads;
	struct audit_report report;
	uint8_t before[AUDIT_DIGEST]; /* the digest of the previous line */
	char ts[32];		      /* the time of the previous line */
	bool over;		      /* the log is closed or found to be broken, so no further line
				       * is checked */
	/* The previous line is wrong. If the next line is `audit.torn`, a crash has cut the
	 * previous line short. Otherwise the previous line is a forgery. */
	bool suspect;
	char suspicion[200];
};

static int bad(struct check *check, enum audit_verdict verdict, uint64_t line, const char *why)
{
	struct audit_report *report = &check->report;

	if (report->verdict == AUDIT_BROKEN || (report->bad_line && verdict == AUDIT_TORN))
		return 0;
	report->verdict = verdict;
	report->bad_line = line;
	snprintf(report->why, sizeof(report->why), "%s", why);
	if (verdict == AUDIT_BROKEN)
		check->over = true;
	return 0;
}

static bool chains(const struct check *check, const struct audit_line *line, uint64_t number)
{
	const char *nonce = json_text(line->data, "nonce", NULL);
	uint8_t root[AUDIT_DIGEST], prev[AUDIT_DIGEST];

	if (!line->prev || !audit_unhex(line->prev, prev))
		return false;
	if (number > 1)
		return memcmp(prev, check->before, AUDIT_DIGEST) == 0;
	if (!nonce)
		return false;
	audit_root(check->session, nonce, root);
	return memcmp(prev, root, AUDIT_DIGEST) == 0;
}

static bool is_event(const struct audit_line *line, const char *event)
{
	return strcmp(line->event, event) == 0;
}

/* Checks a line and its position in the log. Writes a text about what is wrong to `why`, or "" if
 * nothing is wrong. */
static void judge_line(const struct check *check, const struct audit_line *line, uint64_t number,
		       char *why, size_t size)
{
	const json_t *count = json_object_get(line->data, "count");

	*why = '\0';
	if (strcmp(line->session, check->session) != 0)
		snprintf(why, size, "it is of session \"%.64s\"", line->session);
	else if (line->seq != number)
		snprintf(why, size, "its seq is %llu", (unsigned long long)line->seq);
	else if ((number == 1) != is_event(line, AUDIT_EVENT_OPENED))
		snprintf(why, size,
			 number == 1 ? "it does not open the log"
				     : "it opens a log within the log");
	else if (!chains(check, line, number))
		snprintf(why, size,
			 number == 1 ? "prev is not the digest of session and nonce"
				     : "prev is not the digest of the line before");
	else if (is_event(line, AUDIT_EVENT_CLOSED) &&
		 (!json_is_integer(count) || (uint64_t)json_integer_value(count) != number))
		snprintf(why, size, "it closes a log that has another length");
}

static void compare_with_security_log(struct check *check, uint64_t number)
{
	const struct audit_heads *heads = check->heads;

	if (!heads)
		return;
	if (number > heads->count || !heads->known[number - 1]) {
		if (!check->report.unconfirmed)
			check->report.unconfirmed = number;
		return;
	}
	if (heads->known[number - 1] == 2 ||
	    memcmp(heads->digests[number - 1], check->before, AUDIT_DIGEST) != 0)
		bad(check, AUDIT_BROKEN, number, "the security log has another line in its place");
	else
		check->report.confirmed++;
}

static int check_line(void *data, const char *text, size_t len, struct error *err)
{
	struct check *check = data;
	uint64_t number = check->report.lines + 1;
	struct audit_line line = {0};
	struct error problem = {0};
	json_auto_t *object = NULL;
	char why[200] = "";
	bool read;

	(void)err;
	if (check->over)
		return 0;
	if (check->report.verdict == AUDIT_CLOSED)
		return bad(check, AUDIT_BROKEN, number,
			   "it comes after the line that closes the log");
	if (text[len - 1] != '\n' && len >= limit_get(LIMIT_AUDIT_LINE_BYTES))
		return bad(check, AUDIT_BROKEN, number, "it is longer than a line can be");
	object = json_load_strict(text, len, &problem);
	read = object && audit_line_read(object, &line, &problem) == 0;
	if (read)
		judge_line(check, &line, number, why, sizeof(why));
	else
		snprintf(why, sizeof(why), "it is not a line of an audit log: %.150s", problem.msg);
	/* This line also decides about a suspect previous line. If this line is `audit.torn`, the
	 * writer has noticed that a crash cut the previous line short. */
	if (read && !*why && is_event(&line, AUDIT_EVENT_TORN))
		bad(check, AUDIT_TORN, number - 1, "it was cut short by a crash");
	else if (check->suspect)
		bad(check, AUDIT_BROKEN, number - 1, check->suspicion);
	check->suspect = false;
	if (check->over)
		return 0;
	if (text[len - 1] != '\n')
		return bad(check, AUDIT_TORN, number, "it is cut short");
	check->suspect = *why != '\0';
	snprintf(check->suspicion, sizeof(check->suspicion), "%s", why);
	audit_digest(text, len, check->before);
	check->report.lines = number;
	compare_with_security_log(check, number);
	if (read && !check->suspect && !check->over) {
		const json_t *lost = json_object_get(line.data, "lost");

		if (is_event(&line, AUDIT_EVENT_GAP) && json_is_integer(lost) &&
		    json_integer_value(lost) > 0)
			check->report.lost += (uint64_t)json_integer_value(lost);
		if (*check->ts && strcmp(line.ts, check->ts) < 0)
			check->report.set_back++;
		snprintf(check->ts, sizeof(check->ts), "%s", line.ts);
		if (is_event(&line, AUDIT_EVENT_CLOSED) && check->report.verdict == AUDIT_OPEN)
			check->report.verdict = AUDIT_CLOSED;
	}
	return 0;
}

int audit_verify(int fd, const char *session, const struct audit_heads *heads,
		 struct audit_report *out, struct error *err)
{
	struct check check = {.session = session, .heads = heads};
	struct error why = {0};

	if (audit_each_line(fd, audit_most_bytes(), check_line, &check, &why) < 0) {
		if (!audit_is_too_long(fd))
			return error_copy(err, &why);
		snprintf(check.suspicion, sizeof(check.suspicion), "%.199s", why.msg);
		bad(&check, AUDIT_BROKEN, 1, check.suspicion);
	}
	if (check.suspect)
		bad(&check, AUDIT_BROKEN, check.report.lines, check.suspicion);
	if (check.report.lines == 0 && check.report.verdict == AUDIT_OPEN)
		bad(&check, AUDIT_BROKEN, 1, "it is missing: the log is empty");
	/* If the security log has lines that the log does not have, the end of the log was cut
	 * off. */
	for (size_t i = check.report.lines; heads && i < heads->count && !check.over; i++)
		if (heads->known[i])
			bad(&check, AUDIT_BROKEN, i + 1,
			    "it is missing: the security log has its digest");
	if (heads)
		check.report.lost += heads->lost;
	if (check.report.lines > 0)
		sha256_hex(check.before, check.report.head);
	if (check.report.verdict == AUDIT_BROKEN && check.report.lines >= check.report.bad_line)
		check.report.lines = check.report.bad_line - 1;
	snprintf(check.report.day, sizeof(check.report.day), "%.10s", check.ts);
	*out = check.report;
	return 0;
}
