/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/sync.h"
#include "base/platform/system.h"
#include "contract/kind.h"
#include "store/audit_line.h"

#define SESSION_RECORD "session.json"
#define SUPERVISOR_LOG "supervisor.log"

static bool has_record(const struct workspace *ws, const char *name)
{
	return faccessat(ws->fd, name, F_OK, AT_SYMLINK_NOFOLLOW | AT_EACCESS) == 0;
}

bool audit_is_kept(const struct workspace *ws)
{
	return ws->fd >= 0 && (has_record(ws, SESSION_RECORD) || has_record(ws, SANDBOX_RECORD));
}

bool audit_is_of_sandbox(const struct workspace *ws)
{
	return !has_record(ws, SESSION_RECORD);
}

/* --- the last line of an earlier writer ------------------------------------------------------ */

struct tail {
	uint64_t lines;		    /* number of lines that end with a newline */
	uint8_t last[AUDIT_DIGEST]; /* digest of the last line */
	bool closed, destroyed;
	uint64_t used[AUDIT_PARTS];
	/* The line that is just being read, in parts: its digest, its length in bytes, and its part
	 * of the log. At the end of the file, this is a last line without a newline. */
	struct sha256 sha;
	size_t len;
	enum audit_part part;
	bool closing, destroying;
};

static bool says(const char *part, size_t len, const char *event)
{
	char key[64];
	int n = snprintf(key, sizeof(key), "\"event\":\"%s\"", event);

	return memmem(part, len, key, (size_t)n) != NULL;
}

static int scan_part(void *data, const char *part, size_t len, struct error *err)
{
	struct tail *tail = data;

	(void)err;
	if (tail->len == 0) {
		sha256_init(&tail->sha);
		tail->part = audit_line_part(part, len);
	}
	tail->used[tail->part] += len;
	tail->closing = tail->len == 0 && says(part, len, AUDIT_EVENT_CLOSED);
	tail->destroying = tail->len == 0 && says(part, len, AUDIT_EVENT_DESTROYED);
	sha256_update(&tail->sha, part, len);
	tail->len += len;
	if (part[len - 1] != '\n')
		return 0;
	tail->closed = tail->closing;
	tail->destroyed |= tail->destroying;
	sha256_final(&tail->sha, tail->last);
	tail->lines++;
	tail->len = 0;
	return 0;
}

/* --- writing a line -------------------------------------------------------------------------- */

/* Writes the line `text`, which begins with a newline if the previous line is torn. A line that
 * must be synced is synced before its digest is written to the security log. Otherwise a power
 * failure could remove the line but not its digest, and the crash would look like a forgery. For
 * lines that need no sync, this can happen; docs/audit.md describes this case. */
static int put_audit(struct audit *audit, const char *text, size_t len,
		     const struct audit_event *event, enum store_sync sync, struct error *err)
{
	size_t lead = text[0] == '\n';
	struct error ignored;
	bool locked;
	int errnum;
	ssize_t n;

	/* A reader that holds this lock sees no partly written line. The writer does not wait for
	 * the lock, because a stopped reader may hold it for ever. */
	locked = flock(audit->fd, LOCK_EX | LOCK_NB) == 0;
	n = write(audit->fd, text, len);
	errnum = n < 0 ? errno : ENOSPC;
	if (locked)
		flock(audit->fd, LOCK_UN);
	if (n != (ssize_t)len) {
		/* A partly written line is removed, because it would look like a line that a crash
		 * cut short. */
		if (n > 0 && ftruncate(audit->fd, audit->end) < 0)
			audit->end = -1;
		return error_errno(err, errnum, AUDIT_LOG);
	}
	audit->end += (off_t)len;
	audit->used[audit_line_part(text, len)] += len;
	audit->lines++;
	audit_digest(text + lead, len - lead, audit->head);
	if (sync == STORE_SYNC && file_sync_data(audit->fd) < 0)
		return error_errno(err, errno, AUDIT_LOG);
	if (security_log_write(audit, event, audit->lines, sync, &ignored) < 0)
		audit->heads_lost++;
	audit->unsynced = sync != STORE_SYNC;
	return 0;
}

static int begin_chain(struct audit *audit, struct error *err)
{
	uint8_t bytes[AUDIT_DIGEST], root[AUDIT_DIGEST];
	char nonce[2 * AUDIT_DIGEST + 1];
	json_auto_t *data = NULL;
	struct audit_event event = {.subsystem = AUDIT_SUBSYSTEM,
				    .event = AUDIT_EVENT_OPENED,
				    .real_ns = clock_real_ns()};
	autofree char *text = NULL;
	size_t len = 0;

	if (random_bytes(bytes, sizeof(bytes), err) < 0)
		return -1;
	sha256_hex(bytes, nonce);
	audit_root(audit->session, nonce, root);
	data = json_pack("{s:i, s:s}", "format", 1, "nonce", nonce);
	event.data = data;
	text = data ? audit_line_text(audit, &event, root, 1, &len, err)
		    : (error_errno(err, ENOMEM, AUDIT_LOG), NULL);
	return text ? put_audit(audit, text, len, &event, STORE_NO_SYNC, err) : -1;
}

/* Continues the log after a torn line with the line `audit.torn`. audit->head is the digest of the
 * torn line. */
static int go_on_behind_torn(struct audit *audit, struct error *err)
{
	json_auto_t *data = json_pack("{s:I}", "line", (json_int_t)audit->lines);
	const struct audit_event event = {.severity = AUDIT_WARNING,
					  .subsystem = AUDIT_SUBSYSTEM,
					  .event = AUDIT_EVENT_TORN,
					  .data = data,
					  .real_ns = clock_real_ns()};
	size_t len = 0;
	autofree char *text =
		audit_line_text(audit, &event, audit->head, audit->lines + 1, &len, err);
	autofree char *both = text ? malloc(len + 1) : NULL;

	if (!both)
		return text ? error_errno(err, ENOMEM, AUDIT_LOG) : -1;
	both[0] = '\n';
	memcpy(both + 1, text, len);
	return put_audit(audit, both, len + 1, &event, STORE_SYNC, err);
}

/* --- open ------------------------------------------------------------------------------------ */

char *audit_state_path(const struct workspace *ws, const char *name, struct error *err)
{
	autofree char *state = strdup(ws->dir->path);
	char *slash = state ? strrchr(state, '/') : NULL;

	if (!slash) {
		error_errno(err, state ? EINVAL : ENOMEM, "%s", ws->dir->path);
		return NULL;
	}
	*slash = '\0';
	return path_join(*state ? state : "/", name, err);
}

void audit_name_session(const struct workspace *ws, char out[AUDIT_SESSION_ROOM])
{
	snprintf(out, AUDIT_SESSION_ROOM, "%.*s", (int)kind_name_length(ws->id), ws->id);
}

/* Begins the chain of digests in a new log, or reads the log to continue its chain. On failure, the
 * log is unchanged. */
static int take_up_chain(struct audit *audit, struct error *err)
{
	struct tail tail = {0};
	struct stat st;
	bool torn;

	if (fstat(audit->fd, &st) < 0 ||
	    audit_each_line(audit->fd, audit_most_bytes(), scan_part, &tail, err) < 0)
		return error_prefix(err, AUDIT_LOG);
	torn = tail.len > 0;
	if (torn) {
		/* The digest of the torn line is computed as if the line ended with a newline. */
		sha256_update(&tail.sha, "\n", 1);
		sha256_final(&tail.sha, tail.last);
	}
	audit->end = st.st_size;
	audit->lines = tail.lines + torn;
	audit->closed = tail.closed && !torn;
	audit->destroyed = tail.destroyed;
	memcpy(audit->used, tail.used, sizeof(audit->used));
	memcpy(audit->head, tail.last, sizeof(audit->head));
	if (audit->lines == 0)
		return begin_chain(audit, err);
	return torn ? go_on_behind_torn(audit, err) : 0;
}

/* Writes an event that says that earlier lines are missing. The log has only its first line. */
static int tell_that_lines_are_gone(struct audit *audit, struct error *err)
{
	json_auto_t *data = json_pack("{s:s}", "how", audit_tampering_names[AUDIT_REMOVED]);
	const struct audit_event event = {AUDIT_CRITICAL, AUDIT_SUBSYSTEM, AUDIT_EVENT_CHANGED,
					  data, 0};

	return data ? audit_append(audit, &event, STORE_SYNC, err)
		    : error_errno(err, ENOMEM, AUDIT_LOG);
}

int audit_open(const struct workspace *ws, struct audit *out, struct error *err)
{
	auto_audit struct audit audit = AUDIT_NONE;

	audit_name_session(ws, audit.session);
	audit.logs = audit_state_path(ws, SECURITY_DIR, err);
	if (!audit.logs)
		return -1;
	audit.dirfd = ws->fd;
	audit.fd = openat(ws->fd, AUDIT_LOG,
			  O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (audit.fd < 0)
		return error_errno(err, errno, "%s/%s/" AUDIT_LOG, ws->dir->path, ws->id);
	/* The first line of a session's log is written before the session's first start, and the
	 * first start makes supervisor.log. So if supervisor.log exists and the log has only its
	 * first line, earlier lines are missing. A sandbox is not checked, because its first start
	 * writes the first line. */
	if (take_up_chain(&audit, err) < 0 ||
	    (audit.lines == 1 && has_record(ws, SESSION_RECORD) && has_record(ws, SUPERVISOR_LOG) &&
	     tell_that_lines_are_gone(&audit, err) < 0))
		return error_prefix(err, "%s/%s", ws->dir->path, ws->id);
	*out = audit;
	audit = (struct audit)AUDIT_NONE;
	return 0;
}

void audit_release(struct audit *audit)
{
	cleanup_close(&audit->fd);
	cleanup_close(&audit->security_fd);
	free(audit->logs);
	*audit = (struct audit)AUDIT_NONE;
}

/* --- append ---------------------------------------------------------------------------------- */

/* Reads bytes that another process has appended after the last line of this process. The prev of
 * the next line covers these bytes, so that audit_verify() reports them. */
static int catch_up(struct audit *audit, struct error *err)
{
	struct stat st;

	if (fstat(audit->fd, &st) < 0)
		return error_errno(err, errno, AUDIT_LOG);
	return st.st_size == audit->end ? 0 : take_up_chain(audit, err);
}

int audit_append(struct audit *audit, const struct audit_event *event, enum store_sync sync,
		 struct error *err)
{
	struct audit_event at = *event;
	autofree char *text = NULL;
	size_t len = 0;

	if (catch_up(audit, err) < 0)
		return -1;
	if (audit->closed || (audit->destroyed && strcmp(event->event, AUDIT_EVENT_CLOSED) != 0))
		return error_set(err, ERR_CONFLICT,
				 AUDIT_LOG " of %s is closed, so nothing more is written to it",
				 audit->session);
	if (!audit->last_words && audit->end >= (off_t)limit_get(LIMIT_AUDIT_FILE_BYTES))
		return error_set(err, ERR_UNAVAILABLE,
				 AUDIT_LOG " of %s is full, so nothing more is written to it",
				 audit->session);
	if (!at.real_ns)
		at.real_ns = clock_real_ns(); /* the clock is read once, so that the lines in both
					       * logs have the same time */
	text = audit_line_text(audit, &at, audit->head, audit->lines + 1, &len, err);
	return text ? put_audit(audit, text, len, &at, sync, err) : -1;
}

int audit_sync(struct audit *audit, struct error *err)
{
	if (!audit->unsynced)
		return 0;
	if (audit->fd >= 0 && file_sync_data(audit->fd) < 0)
		return error_errno(err, errno, AUDIT_LOG);
	if (security_log_sync(audit, err) < 0)
		return -1;
	audit->unsynced = false;
	return 0;
}

int audit_finish(struct audit *audit, struct error *err)
{
	json_auto_t *data = NULL;
	struct audit_event event = {.subsystem = AUDIT_SUBSYSTEM, .event = AUDIT_EVENT_CLOSED};

	if (catch_up(audit, err) < 0)
		return -1;
	if (audit->closed)
		return 0;
	audit->last_words = true;
	data = json_pack("{s:I}", "count", (json_int_t)audit->lines + 1);
	event.data = data;
	if (!data)
		return error_errno(err, ENOMEM, AUDIT_LOG);
	if (audit_append(audit, &event, STORE_SYNC, err) < 0)
		return -1;
	audit->closed = true;
	return 0;
}

int audit_note_aside(const struct workspace *ws, const struct audit_event *event, struct error *err)
{
	auto_audit struct audit aside = AUDIT_NONE;

	audit_name_session(ws, aside.session);
	aside.logs = audit_state_path(ws, SECURITY_DIR, err);
	return aside.logs ? security_log_aside(&aside, event, err) : -1;
}

int audit_note(const struct workspace *ws, const struct audit_event *event, struct error *err)
{
	auto_audit struct audit audit = AUDIT_NONE;

	if (!audit_is_kept(ws) ||
	    (audit_open(ws, &audit, err) == 0 && audit_append(&audit, event, STORE_SYNC, err) == 0))
		return 0;
	if (event->severity == AUDIT_CRITICAL)
		(void)audit_note_aside(ws, event, NULL);
	return -1;
}
