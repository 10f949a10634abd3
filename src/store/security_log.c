/* SPDX-License-Identifier: MIT */
/*
 * Writes and reads the security log <state>/logs/security-YYYY-MM-DD.log. The security log has the
 * digests of the audit lines of all sessions, with one file for each day (UTC) on which lines were
 * written. Many processes write to the same file, so each line is one write to a descriptor that
 * was opened with O_APPEND. Warnings and critical events are written with their data, other events
 * without.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/sync.h"
#include "store/audit_line.h"
#include "store/internal.h"
#include "store/trusted_dir.h"

/* A number of lines that is larger than the number in any audit log of LIMIT_AUDIT_BYTES. */
#define HEADS_MAX (1u << 22)

/* The beginning of each line. A line has this text only at its beginning, so a reader can find the
 * next line after a line that was cut short. */
#define LINE_BEGINS "{\"ts\":"

/* The number of characters in a day such as "2026-11-27". */
#define DAY_LENGTH 10

static bool writes_day(const struct audit *audit, const char *day)
{
	return audit->security_fd >= 0 && strncmp(audit->security_day, day, DAY_LENGTH) == 0;
}

/* --- the file at the path ---------------------------------------------------------------------
 * If a live supervisor has given up its rights, its broker runs the functions of this part, with its
 * own copy of struct audit: the supervisor may not see the path, and gets no descriptor. */

static void name_day(const char *day, char name[sizeof(SECURITY_PATTERN)])
{
	memcpy(name, SECURITY_PATTERN, sizeof(SECURITY_PATTERN));
	memcpy(name + strlen(SECURITY_LOG), day, DAY_LENGTH);
}

/* Returns true if the path of the day's log leads to no file, or to a file other than the open
 * one. */
static bool is_away(const struct audit *audit, const struct stat *opened)
{
	char name[sizeof(SECURITY_PATTERN)];
	struct stat named;

	name_day(audit->security_day, name);
	autofree char *path = path_join(audit->logs, name, NULL);
	if (!path)
		return false;
	if (lstat(path, &named) == 0)
		return named.st_dev != opened->st_dev || named.st_ino != opened->st_ino;
	return errno == ENOENT || errno == ENOTDIR;
}

/* Remembers the size of the file and its last bytes. microagent never changes written bytes, so the
 * next check can compare the file with them. */
static void remember_end(struct audit *audit, off_t end)
{
	size_t len = end < SECURITY_TAIL ? (size_t)end : SECURITY_TAIL;
	ssize_t n = pread(audit->security_fd, audit->security_tail, len, end - (off_t)len);

	audit->security_end = end;
	/* If the last bytes of the file cannot be read, only the length is compared. */
	audit->security_tail_len = n == (ssize_t)len ? len : 0;
}

/* Returns true if the file was cut short, even if other bytes were appended after that. */
static bool is_shortened(const struct audit *audit, off_t size)
{
	size_t len = audit->security_tail_len;
	uint8_t now[SECURITY_TAIL];

	if (size < audit->security_end)
		return true;
	return pread(audit->security_fd, now, len, audit->security_end - (off_t)len) ==
		       (ssize_t)len &&
	       memcmp(now, audit->security_tail, len) != 0;
}

/* Opens the file of a day. With `make`, a missing directory and a missing file are made. On
 * failure, the file that was open before stays open. */
static int open_day(struct audit *audit, const char *day, bool make, struct error *err)
{
	char name[sizeof(SECURITY_PATTERN)];
	autoclose int dir = -1, fd = -1;
	struct stat st;

	name_day(day, name);
	dir = path_open_dir_at(AT_FDCWD, audit->logs, make, 0700, err);
	if (dir < 0 || trusted_dir_check_own(dir, audit->logs, err) < 0)
		return -1;
	fd = openat(dir, name,
		    O_RDWR | (make ? O_CREAT : 0) | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
		    0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s/%s", audit->logs, name);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_CONFLICT,
			"%s/%s is not a regular file, so nothing can be written to it: move it away",
			audit->logs, name);
	cleanup_close(&audit->security_fd);
	audit->security_fd = steal_fd(&fd);
	remember_end(audit, make ? 0 : st.st_size);
	audit->security_away = false;
	snprintf(audit->security_day, sizeof(audit->security_day), "%.*s", DAY_LENGTH, day);
	return 0;
}

static void look_at_day(struct audit *audit)
{
	enum audit_tampering found;
	char now[CLOCK_TEXT];
	struct stat st;

	if (audit->security_fd < 0)
		return;
	/* The file of an earlier day is not checked, since it may have been moved to an archive. If
	 * a new day has begun, the file of that day is opened if another process has already made
	 * it. */
	clock_rfc3339(clock_real_ns(), now);
	if (!writes_day(audit, now)) {
		(void)open_day(audit, now, false, NULL);
		return;
	}
	if (fstat(audit->security_fd, &st) < 0)
		return;
	if (is_away(audit, &st))
		found = st.st_nlink == 0 ? AUDIT_SECURITY_REMOVED : AUDIT_SECURITY_MOVED;
	else
		found = is_shortened(audit, st.st_size) ? AUDIT_SECURITY_SHORTENED
							: AUDIT_UNTOUCHED;
	if (found != AUDIT_UNTOUCHED && !audit->security_away)
		audit->security_tampering = found;
	remember_end(audit, st.st_size);
	audit->security_away = found == AUDIT_SECURITY_REMOVED || found == AUDIT_SECURITY_MOVED;
	if (audit->security_away)
		(void)open_day(audit, now, true, NULL);
}

static int sync_day(const struct audit *audit, struct error *err)
{
	if (audit->security_fd < 0 || file_sync_data(audit->security_fd) == 0)
		return 0;
	return error_errno(err, errno, "%s/security-%s.log", audit->logs, audit->security_day);
}

/* Writes the text as a line to today's file. A newline replaces the NUL of the text. The event may
 * be of yesterday, if the line was delayed. */
static int append_text(struct audit *audit, char *text, enum store_sync sync, struct error *err)
{
	size_t len = strlen(text);
	char now[CLOCK_TEXT];
	ssize_t n;

	clock_rfc3339(clock_real_ns(), now);
	look_at_day(audit);
	if (!writes_day(audit, now) && open_day(audit, now, true, err) < 0)
		return -1;
	text[len] = '\n';
	n = write(audit->security_fd, text, len + 1);
	/* Other writers may have appended lines before this line. Because of O_APPEND, the offset
	 * of the descriptor is now the end of this line. */
	remember_end(audit, lseek(audit->security_fd, 0, SEEK_CUR));
	if (n < 0 || (size_t)n != len + 1)
		return error_errno(err, n < 0 ? errno : ENOSPC, "%s/security-%s.log", audit->logs,
				   audit->security_day);
	/* The new file could not be opened, so the line is only in the old file. */
	if (audit->security_away)
		return error_set(
			err, ERR_UNAVAILABLE,
			"%s/security-%s.log was removed or replaced by something else than microagent: put it back if you have it",
			audit->logs, audit->security_day);
	return sync == STORE_SYNC ? sync_day(audit, err) : 0;
}

/* --- in the broker ---------------------------------------------------------------------------- */

enum security_step { SECURITY_LOOK, SECURITY_APPEND, SECURITY_SYNC };

struct security_question {
	enum security_step step;
	enum store_sync sync; /* whether to sync a line; only for SECURITY_APPEND, whose text
			       * follows this struct */
};

struct security_answer {
	enum audit_tampering found;
	int status;	    /* 0 or -1, the result of the step */
	struct error error; /* the error of the step; only set if the status is -1 */
};

/* Does one step of writing the security log. `text` is only used for SECURITY_APPEND. */
static int do_step(struct audit *audit, const struct security_question *question, char *text,
		   struct error *err)
{
	switch (question->step) {
	case SECURITY_LOOK:
		look_at_day(audit);
		return 0;
	case SECURITY_APPEND:
		return append_text(audit, text, question->sync, err);
	case SECURITY_SYNC:
		return sync_day(audit, err);
	}
	return error_set(
		err, ERR_INVALID,
		"the broker refuses a request about the security log, because the request is of an unknown kind: this is a bug, or the live supervisor was taken over");
}

/* Returns true if only commands and the broker itself may write the event, and not the live
 * supervisor. Such an event says that a session has ended, or that its log is missing for a good
 * reason, so a false one could hide a forgery. */
static bool is_for_commands(const char *event)
{
	static const char *const events[] = {AUDIT_EVENT_CLOSED, AUDIT_EVENT_DESTROYED,
					     SECURITY_ARCHIVE_REMOVED, SECURITY_ORPHANED};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (strcmp(event, events[i]) == 0)
			return true;
	return false;
}

/* Returns true if every reader reads the text as exactly one line. So the text must not be too
 * long, because a reader gets a line that is too long in parts. The text must have LINE_BEGINS only
 * at its beginning, because a reader searches for LINE_BEGINS after a line that was cut short: an
 * object in the text that begins so could look like a line of another session. (A string in the
 * text cannot, because its quotation marks have backslashes before them.) */
static bool is_one_line(const char *text)
{
	size_t len = strlen(text);

	return len + 1 <= limit_get(LIMIT_AUDIT_LINE_BYTES) &&
	       strncmp(text, LINE_BEGINS, strlen(LINE_BEGINS)) == 0 &&
	       !strstr(text + 1, LINE_BEGINS);
}

/* Parses and checks the line to append, and makes its text anew from the parsed values. So the
 * result is exactly one line, and has only the checked values. The caller frees the text. */
static char *checked_line(const struct audit *audit, const char *text, size_t len,
			  struct error *err)
{
	json_auto_t *object = json_load_strict(text, len, err);
	const char *session = NULL, *event = NULL;
	autofree char *line = NULL;

	if (!object || json_get_string(object, "", "session", JSON_REQUIRED, &session, err) < 0 ||
	    json_get_string(object, "", "event", JSON_REQUIRED, &event, err) < 0)
		return NULL;
	line = json_line(object, err);
	if (!line)
		return NULL;
	if (strcmp(session, audit->session) == 0 && !is_for_commands(event) && is_one_line(line))
		return steal_ptr(&line);
	error_set(
		err, ERR_DENIED,
		"the broker refuses to write a line for session %s to the security log, because a supervisor may not write this event, or it is about another session: event \"%.64s\" of session \"%.128s\"",
		audit->session, event, session);
	return NULL;
}

static int serve_step(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	struct audit *audit = data;
	struct security_question question;
	struct security_answer answer = {0};
	autofree char *text = NULL;

	if (in->len < sizeof(question))
		return error_set(
			err, ERR_INVALID,
			"the broker refuses a request about the security log, because the request is too short: this is a bug, or the live supervisor was taken over");
	memcpy(&question, in->bytes, sizeof(question));
	if (question.step == SECURITY_APPEND) {
		text = checked_line(audit, in->bytes + sizeof(question), in->len - sizeof(question),
				    err);
		if (!text)
			return -1;
	}
	answer.status = do_step(audit, &question, text, &answer.error);
	answer.found = audit->security_tampering;
	audit->security_tampering = AUDIT_UNTOUCHED;
	memcpy(out->bytes, &answer, sizeof(answer));
	out->len = sizeof(answer);
	return 0;
}

const struct broker_duty security_log_duty = {serve_step};

static int ask_step(struct audit *audit, const struct security_question *question, const char *text,
		    struct error *err)
{
	size_t len = text ? strlen(text) : 0;
	struct broker_message in = {.len = sizeof(*question) + len}, out;
	struct security_answer answer;

	if (in.len > BROKER_BYTES)
		return error_set(
			err, ERR_INVALID,
			"a line for the security log is longer than the broker accepts: this is a bug of microagent");
	memcpy(in.bytes, question, sizeof(*question));
	if (text)
		memcpy(in.bytes + sizeof(*question), text, len);
	if (broker_ask(&security_log_duty, &in, &out, err) < 0)
		return -1;
	if (out.len != sizeof(answer))
		return error_set(
			err, ERR_INTERNAL,
			"the broker's answer about the security log has a wrong length: this is a bug of microagent");
	memcpy(&answer, out.bytes, sizeof(answer));
	if (answer.found != AUDIT_UNTOUCHED)
		audit->security_tampering = answer.found;
	return answer.status < 0 ? error_copy(err, &answer.error) : 0;
}

static int take_step(struct audit *audit, const struct security_question *question, char *text,
		     struct error *err)
{
	return broker_is_asked() ? ask_step(audit, question, text, err)
				 : do_step(audit, question, text, err);
}

void security_log_look(struct audit *audit)
{
	static const struct security_question look = {.step = SECURITY_LOOK};
	struct error ignored;

	(void)take_step(audit, &look, NULL, &ignored);
}

int security_log_sync(struct audit *audit, struct error *err)
{
	static const struct security_question sync = {.step = SECURITY_SYNC};

	return take_step(audit, &sync, NULL, err);
}

static int append_line(struct audit *audit, char *text, enum store_sync sync, struct error *err)
{
	const struct security_question append = {.step = SECURITY_APPEND, .sync = sync};

	return take_step(audit, &append, text, err);
}

/* --- lines for a session with an audit log ---------------------------------------------------- */

int security_log_write(struct audit *audit, const struct audit_event *event, uint64_t seq,
		       enum store_sync sync, struct error *err)
{
	size_t len = 0;
	/* The line of the security log is made from the line of the audit log, so that both lines
	 * have the same values. */
	autofree char *line = audit_line_text(audit, event, audit->head, seq, &len, err);
	json_auto_t *object = line ? json_load_strict(line, len, err) : NULL;
	json_t *head = object ? json_incref(json_object_get(object, "prev")) : NULL;
	autofree char *text = NULL;

	if (!object)
		return -1;
	json_object_del(object, "prev");
	if (event->severity == AUDIT_INFO)
		json_object_del(object, "data");
	if (json_put(object, "head", head, err) < 0)
		return -1;
	text = json_line(object, err);
	return text ? append_line(audit, text, sync, err) : -1;
}

/* --- lines for a session without an audit log ------------------------------------------------- */

int security_log_aside(struct audit *audit, const struct audit_event *event, struct error *err)
{
	static const uint8_t none[AUDIT_DIGEST];
	size_t len = 0;
	autofree char *line = audit_line_text(audit, event, none, 0, &len, err);
	json_auto_t *object = line ? json_load_strict(line, len, err) : NULL;
	autofree char *text = NULL;

	if (!object)
		return -1;
	json_object_del(object, "seq");
	json_object_del(object, "prev");
	text = json_line(object, err);
	return text ? append_line(audit, text, STORE_SYNC, err) : -1;
}

int security_log_note(const char *state_path, const char *session, const struct audit_event *event,
		      struct error *err)
{
	auto_audit struct audit log = AUDIT_NONE;

	log.logs = path_join(state_path, SECURITY_DIR, err);
	snprintf(log.session, sizeof(log.session), "%s", session);
	return log.logs ? security_log_aside(&log, event, err) : -1;
}

/* --- read ------------------------------------------------------------------------------------ */

static int grow_security_log(struct audit_heads *heads, size_t count, struct error *err)
{
	size_t room = heads->room ? heads->room : 64;
	void *grown;

	while (room < count)
		room *= 2;
	if (room > heads->room) {
		grown = realloc(heads->digests, room * sizeof(*heads->digests));
		if (!grown)
			return error_errno(err, ENOMEM, "security log");
		heads->digests = grown;
		grown = realloc(heads->known, room);
		if (!grown)
			return error_errno(err, ENOMEM, "security log");
		heads->known = grown;
		memset(heads->known + heads->room, 0, room - heads->room);
		heads->room = room;
	}
	if (count > heads->count)
		heads->count = count;
	return 0;
}

/* Parses a line and sets *session. If a full disk cut a line short, there is no newline between
 * this line and the next one, so only the last line in the text is parsed. Returns NULL if the text
 * is not a line of the security log. */
static json_t *security_object(const char *line, size_t len, const char **session)
{
	const char *found = line, *next = line;
	json_auto_t *object = NULL;

	while ((next = memmem(next, len - (size_t)(next - line), LINE_BEGINS, strlen(LINE_BEGINS))))
		found = next++;
	object = json_load_strict(found, len - (size_t)(found - line), NULL);
	if (!json_is_object(object) ||
	    json_get_string(object, "", "session", JSON_REQUIRED, session, NULL) < 0)
		return NULL;
	return steal_ptr(&object);
}

struct search {
	const char *session;
	struct audit_heads *heads;
};

static int take_security_line(void *data, const char *line, size_t len, struct error *err)
{
	const struct search *search = data;
	struct audit_heads *heads = search->heads;
	const char *session = NULL, *head = NULL, *event;
	uint8_t digest[AUDIT_DIGEST];
	json_auto_t *object = NULL;
	json_int_t lost;
	int64_t seq = 0;
	size_t i;

	/* A line without the session's name is skipped, because it cannot confirm a line of this
	 * session. */
	if (!memmem(line, len, search->session, strlen(search->session)))
		return 0;
	object = security_object(line, len, &session);
	if (!object || strcmp(session, search->session) != 0)
		return 0;
	/* An event of this kind is only in the security log, because it could not be written to the
	 * audit log. */
	event = json_text(object, "event", "");
	lost = json_integer_value(json_object_get(json_object_get(object, "data"), "lost"));
	if (strcmp(event, SECURITY_ARCHIVE_REMOVED) == 0)
		heads->archive_removed = true;
	else if (strcmp(event, AUDIT_EVENT_GAP) == 0 && !json_object_get(object, "head") &&
		 lost > 0)
		heads->lost += (uint64_t)lost;
	if (json_get_string(object, "", "head", JSON_REQUIRED, &head, NULL) < 0 ||
	    json_get_int(object, "", "seq", JSON_REQUIRED, 1, HEADS_MAX, &seq, NULL) < 0 ||
	    !audit_unhex(head, digest))
		return 0;
	if (grow_security_log(heads, (size_t)seq, err) < 0)
		return -1;
	i = (size_t)seq - 1;
	if (!heads->known[i]) {
		memcpy(heads->digests[i], digest, AUDIT_DIGEST);
		heads->known[i] = 1;
	} else if (memcmp(heads->digests[i], digest, AUDIT_DIGEST) != 0) {
		heads->known[i] = 2;
	}
	return 0;
}

static int take_security_session(void *data, const char *line, size_t len, struct error *err)
{
	const char *session = NULL;
	json_auto_t *object = security_object(line, len, &session);
	const char *event = object ? json_text(object, "event", "") : "";
	const char *kind = json_text(json_object_get(object, "data"), "kind", "");
	const char *action = json_text(json_object_get(object, "data"), "action", "");
	/* A sweep writes the action "removed" when it removes a session. */
	bool over = strcmp(event, AUDIT_EVENT_CLOSED) == 0 ||
		    strcmp(event, SECURITY_ARCHIVE_REMOVED) == 0 ||
		    strcmp(action, SECURITY_ACTION_REMOVED) == 0 ||
		    strcmp(kind, SECURITY_KIND_GONE) == 0 || strcmp(kind, SECURITY_KIND_LOST) == 0;

	/* A line without "seq" is about a session that has no audit log. */
	if (!object || (!over && !json_object_get(object, "seq")) ||
	    json_is_true(json_object_get(data, session)))
		return 0;
	return json_put(data, session, json_boolean(over), err);
}

/* Returns true if the name is the name of a security log. logrotate appends ".1", ".2" and so on to
 * the names of older files. */
static bool is_security_log(const char *name)
{
	static const char pattern[] = SECURITY_PATTERN;
	const char *rest = name + sizeof(pattern) - 1;

	/* A name that is too short is refused in this loop, because its NUL differs from the
	 * pattern. */
	for (size_t i = 0; i < sizeof(pattern) - 1; i++)
		if (pattern[i] == '0' ? name[i] < '0' || name[i] > '9' : name[i] != pattern[i])
			return false;
	return *rest == '\0' ||
	       (*rest == '.' && rest[1] && rest[1 + strspn(rest + 1, "0123456789")] == '\0');
}

static int note_passed_over(json_t *passed_over, const char *logs, const char *name,
			    const char *why, struct error *err)
{
	autofree char *path = path_join(logs, name, err);

	if (!path)
		return -1;
	if (!passed_over ||
	    json_array_append_new(passed_over, json_pack("{s:o, s:s}", "path",
							 json_string_lossy(path, strlen(path)),
							 "why", why)) == 0)
		return 0;
	return error_errno(err, ENOMEM, "%s", path);
}

/* If the file cannot be a log because of its type, returns a text about the type. Returns NULL for
 * a regular file, and if the file does not exist. The file is not opened, because it may be a
 * device. */
static const char *what_is_no_log(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISREG(st.st_mode))
		return NULL;
	return S_ISDIR(st.st_mode)    ? "it is a directory"
	       : S_ISLNK(st.st_mode)  ? "it is a symbolic link"
	       : S_ISFIFO(st.st_mode) ? "it is a FIFO"
				      : "it is not a regular file";
}

/* Reads the log of a day. If the file is not a log, or cannot be opened, adds it to `passed_over`
 * and succeeds, so that the other logs are still read. */
static int read_day(int dir, const char *logs, const char *name, audit_line_fn *fn, void *data,
		    json_t *passed_over, struct error *err)
{
	const char *why = what_is_no_log(dir, name);

	if (why)
		return note_passed_over(passed_over, logs, name, why, err);
	autoclose int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return note_passed_over(passed_over, logs, name, "you may not read it", err);
	if (fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s/%s", logs, name);
	/* The size has no limit, because it depends on the number of sessions of the day, and no
	 * live supervisor can make the file longer by itself. */
	if (audit_each_whole_line(fd, INT64_MAX, fn, data, err) < 0)
		return error_prefix(err, "%s/%s", logs, name);
	return 0;
}

bool security_log_has_day(const char *state_path, const char *day)
{
	autofree char *logs = path_join(state_path, SECURITY_DIR, NULL);
	autodir DIR *dir = logs ? opendir(logs) : NULL;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_security_log(entry->d_name) &&
		    strncmp(entry->d_name + strlen(SECURITY_LOG), day, DAY_LENGTH) == 0 &&
		    !what_is_no_log(dirfd(dir), entry->d_name) &&
		    faccessat(dirfd(dir), entry->d_name, R_OK, AT_EACCESS) == 0)
			return true;
	return false;
}

/* Calls `fn` for each line of the security logs. Adds files that are not readable logs to
 * `passed_over`, which may be NULL. */
static int each_security_line(const char *state_path, audit_line_fn *fn, void *data,
			      json_t *passed_over, struct error *err)
{
	autofree char *logs = path_join(state_path, SECURITY_DIR, err);
	const struct dirent *entry;
	int status = 0;

	if (!logs)
		return -1;
	autodir DIR *dir = opendir(logs);
	if (!dir && errno != ENOENT)
		return error_errno(err, errno, "%s", logs);
	while (dir && status == 0 && (entry = readdir(dir)))
		if (is_security_log(entry->d_name))
			status = read_day(dirfd(dir), logs, entry->d_name, fn, data, passed_over,
					  err);
	return status;
}

int audit_heads_load(const char *state_path, const char *session, struct audit_heads *out,
		     struct error *err)
{
	struct audit_heads heads = {.passed_over = json_array()};
	struct search search = {session, &heads};

	if (each_security_line(state_path, take_security_line, &search, heads.passed_over, err) <
	    0) {
		audit_heads_free(&heads);
		return -1;
	}
	*out = heads;
	return 0;
}

int security_log_sessions(const char *state_path, json_t *out, struct error *err)
{
	return each_security_line(state_path, take_security_session, out, NULL, err);
}

void audit_heads_free(struct audit_heads *heads)
{
	free(heads->digests);
	free(heads->known);
	json_decref(heads->passed_over);
	*heads = (struct audit_heads){0};
}
