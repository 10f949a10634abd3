/* SPDX-License-Identifier: MIT */
/*
 * The audit log of a session: the file audit.log in the session's directory. Each line is JSON:
 *
 *   {"ts","severity","subsystem","event","session","seq","data","prev"}
 *
 * seq is the number of the line, from 1. prev is the SHA-256 of the bytes of the previous line,
 * with its newline. In the first line, prev is the SHA-256 of "<session>\n<nonce>", and the nonce
 * is in the data of that line. The log of a destroyed session ends with `audit.closed`, which has
 * the number of lines. A written line is never changed. If somebody alters, removes or inserts a
 * line, the next line's prev does not match any more. The digest of each line is also written to
 * <state>/logs/security-YYYY-MM-DD.log. So a reader also notices if the last lines of a log were
 * cut off.
 *
 * Only one process writes the log: the live supervisor. If no process holds the lease, the process
 * that holds the command lock writes the log. Only a workspace with a session.json or a
 * sandbox.json has an audit log.
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/broker.h"
#include "base/error.h"
#include "base/sha256.h"
#include "store/store.h"

#define AUDIT_LOG "audit.log"
/* The name of the record of a sandbox: a workspace that is not a session but has an audit log too.
 * The record is {"id": the id of the container for which the workspace was made, "root": the value
 * of --root of microagent-oci}. */
#define SANDBOX_RECORD "sandbox.json"

/* The name of the file with the telemetry that the guest has sent. The file is beside the audit
 * log, and the log has digests of the file. */
#define AUDIT_TELEMETRY "telemetry.jsonl"
#define AUDIT_DIGEST SHA256_BYTES
#define AUDIT_SESSION_ROOM 136
/* A number of bytes that is greater than the length of all members of a line together, not counting
 * its data. */
#define AUDIT_LINE_FRAME 512

enum audit_severity { AUDIT_INFO, AUDIT_WARNING, AUDIT_CRITICAL };

/* The lines of a log belong to three parts, by what caused the line: the host itself, the guest's
 * behaviour as the host saw it (subsystem "network"), and the messages of the guest
 * ("origin":"guest"). Each part may have a limited number of bytes, so that lines of one part
 * cannot use up the space of another part. */
enum audit_part { AUDIT_PART_HOST, AUDIT_PART_NETWORK, AUDIT_PART_GUEST, AUDIT_PARTS };

struct audit_event {
	enum audit_severity severity;
	const char *subsystem; /* area of the host that the event is about: "session", "exec",
			        * "network"... */
	const char *event;     /* "session.cloned" */
	const json_t *data;    /* object with details; NULL means an empty object */
	int64_t real_ns;       /* time of the event in nanoseconds since 1970; 0: now */
};

/* --- writing --------------------------------------------------------------------------------- */

/* What another process has done to the audit log, or to today's security log, since this process
 * wrote its last line. */
enum audit_tampering {
	AUDIT_UNTOUCHED,
	AUDIT_REMOVED,	/* no file has the name of the log */
	AUDIT_REPLACED, /* another file has the name of the log */
	AUDIT_SHORTENED,
	AUDIT_LENGTHENED,
	AUDIT_SECURITY_REMOVED,	 /* the open file of the security log no longer has a name */
	AUDIT_SECURITY_MOVED,	 /* the path of the security log leads to no file, or to another
				  * file than the open one */
	AUDIT_SECURITY_SHORTENED /* the security log is shorter than before */
};
extern const char *const audit_tampering_names[]; /* "untouched", ... */

/* The number of bytes at the end of the security log that are remembered. These bytes always
 * contain the digest of the last line. */
#define SECURITY_TAIL 128

struct audit {
	int fd;
	int dirfd;  /* descriptor of the workspace's directory, which the caller closes after
		     * audit_release() */
	char *logs; /* <state>/logs */
	char session[AUDIT_SESSION_ROOM];
	uint64_t lines;
	off_t end;		    /* offset in bytes of the end of the last line that is known to
				     * be complete; -1: unknown */
	uint64_t used[AUDIT_PARTS]; /* number of bytes that each part of the log uses, including
				     * lines of earlier writers */
	uint8_t head[AUDIT_DIGEST];
	bool closed;
	bool last_words; /* the last lines of the log are being written; when the log is full, only
			  * these lines are accepted */
	/* The log has a line that the session is destroyed. Only the closing line may follow. */
	bool destroyed;
	int security_fd; /* descriptor of the security log of `security_day`; -1: not open yet */
	char security_day[11];
	off_t security_end; /* size of the security log in bytes at the last check or write */
	/* The last bytes of the security log, as they were at the last check or write. */
	uint8_t security_tail[SECURITY_TAIL];
	size_t security_tail_len;
	/* The security log is missing at its path, and cannot be made there. */
	bool security_away;
	/* A change of the security log that was found, but is not in the audit log yet. */
	enum audit_tampering security_tampering;
	bool unsynced; /* some written lines may not be synced to the disk yet */
	/* Number of lines of this log whose digests could not be written to the security log. */
	uint64_t heads_lost;
};
#define AUDIT_NONE                                       \
	{                                                \
		.fd = -1, .dirfd = -1, .security_fd = -1 \
	}

/* Returns true if the workspace has an audit log, because it is a session or a sandbox. */
bool audit_is_kept(const struct workspace *ws);
/* Returns true if the workspace is a sandbox. Call this function only for a workspace with an audit
 * log. */
bool audit_is_of_sandbox(const struct workspace *ws);
/*
 * Opens the log for appending, or begins a new log. A session that was started must have a log. If
 * that log is missing, the second line of the new log is a CRITICAL `audit.changed`. If a crash cut
 * the last line short, the next line is `audit.torn`. The prev of this line is the digest of the
 * incomplete line, so that audit_verify() can tell a crash from a forgery. ERR_IO: the file is
 * longer than audit_most_bytes().
 */
int audit_open(const struct workspace *ws, struct audit *out, struct error *err);
/*
 * Appends a line with one write, and appends the line's digest to the security log. With
 * STORE_SYNC, syncs both lines to the disk. On failure, for example if the disk is full, the log is
 * unchanged. ERR_CONFLICT: the log is closed. If only the digest cannot be appended, the function
 * succeeds and adds 1 to heads_lost.
 */
int audit_append(struct audit *audit, const struct audit_event *event, enum store_sync sync,
		 struct error *err);
/* Checks the audit log for changes by other processes. Does not check the security log. */
enum audit_tampering audit_tampering(const struct audit *audit);
/*
 * Puts a copy of a removed or replaced log back under the log's name. Removes any other file with
 * this name. Later lines are written to the copy. If the function fails, later lines are still
 * written to the open file, which then has no name. A later call copies these lines too.
 */
int audit_put_back(struct audit *audit, struct error *err);
/* Waits until all appended lines are synced to the disk. */
int audit_sync(struct audit *audit, struct error *err);
/* Writes `audit.closed`, the last line of the log. If the log already has this line, does nothing
 * and succeeds. */
int audit_finish(struct audit *audit, struct error *err);
/* Writes an event that the audit log cannot contain to the security log. The line has data, but no
 * number and no digest. Of `audit`, only the session and the members about the security log are
 * used. */
int security_log_aside(struct audit *audit, const struct audit_event *event, struct error *err);
/* Writes an event to the security log for a session without an audit log. `state_path` is the path
 * of the session's state directory. The line has data, but no number and no digest. */
int security_log_note(const char *state_path, const char *session, const struct audit_event *event,
		      struct error *err);
/*
 * Checks whether the open security log is still the file at the path of today's security log. Also
 * checks whether the file still has the bytes at its end that this process saw at its last check or
 * write. Other processes may have appended lines since. Stores the result in security_tampering.
 *
 * Later lines are written to the file at the path, which is made if it is missing. If the file
 * cannot be made, later lines are written to the old file, and count as lines whose digest is not
 * in the security log. The check is done before each line is written.
 */
void security_log_look(struct audit *audit);
/* Syncs the security log to the disk, so that the written lines survive a power failure. */
int security_log_sync(struct audit *audit, struct error *err);
/* The broker's duty for the security log. In a process that has a broker, the functions above write
 * to the security log through the broker. The broker appends the lines itself, and does not pass a
 * descriptor of the log to the process. The duty's data is a struct audit of the broker, in which
 * only the session and the members about the security log are used. The broker refuses lines of
 * other sessions, and events that only commands may write. */
extern const struct broker_duty security_log_duty;
#define SECURITY_ORPHANED "session.orphaned"
/* Two values of "kind" in the event session.orphaned. Each of these values reports the end of a
 * session that has no audit log. */
#define SECURITY_KIND_GONE "bundle-removed"
#define SECURITY_KIND_LOST "process-without-bundle"
/* The value of "action" in the event session.orphaned if the command has removed the session. */
#define SECURITY_ACTION_REMOVED "removed"
/* The name of the event that says that an archive was removed because a user asked for this. */
#define SECURITY_ARCHIVE_REMOVED "archive.removed"
/* Returns true if the security log of `day` (such as "2026-11-27") exists and can be read. */
bool security_log_has_day(const char *state_path, const char *day);
/* Adds a member to the object `out` for each session that has lines in the security logs. The key
 * is the session's name. The value is true if a line reports the session's end, and false
 * otherwise. */
int security_log_sessions(const char *state_path, json_t *out, struct error *err);
void audit_release(struct audit *audit); /* accepts AUDIT_NONE; sets *audit to AUDIT_NONE */
#define auto_audit __attribute__((cleanup(audit_release)))

/* Opens the log, appends one line, and closes the log. Does nothing for a workspace without an
 * audit log. If a CRITICAL event cannot be written, the event is written to the security log, and
 * the call still fails. */
int audit_note(const struct workspace *ws, const struct audit_event *event, struct error *err);

/* Makes the line about an event that a command reports. `what` is the kind of the event. The
 * meaning of `name` depends on `what`. "forked": the name of the new session. "on-fork": the name
 * of the forked session. "snapshot", "snapshot-deleted" and "restored": the name of the snapshot.
 * "share-missing": the path of a directory that the machine could not get back. "created" and
 * "deleted": the name of a container.
 * 
 * `more` has further members of the data; NULL: none. The caller sets line->data to *data, and
 * releases *data. ERR_INVALID: `what` is not such a kind, or the name is too long. */
int audit_told_line(const struct workspace *ws, const char *what, const char *name, json_t *more,
		    struct audit_event *line, json_t **data, struct error *err);

/* Writes the digest of the current telemetry.jsonl to the log, if that file exists. A command calls
 * this function when no process writes telemetry.jsonl any more. */
int audit_note_telemetry(const struct workspace *ws, struct error *err);

/* --- reading --------------------------------------------------------------------------------- */

enum audit_verdict {
	AUDIT_OPEN,
	AUDIT_CLOSED,
	AUDIT_TORN,
	AUDIT_BROKEN,
	/* The log is complete and closed, but the security log of its day has no line about it.
	 * audit_verify() never returns this verdict. */
	AUDIT_UNCONFIRMED
};
extern const char *const audit_verdict_names[]; /* "open", ... */

struct audit_report {
	enum audit_verdict verdict;
	/* Number of lines that were read; in a broken log, the number of lines before the bad
	 * line. */
	uint64_t lines;
	uint64_t bad_line;    /* number of the first bad line, from 1; 0: there is no bad line */
	char why[256];	      /* text: what is wrong with the bad line */
	uint64_t confirmed;   /* number of lines whose digest is in the security log */
	uint64_t unconfirmed; /* number of the first line whose digest is not in the security log;
			       * 0: there is none */
	uint64_t lost;	      /* number of events that were not written, according to the logs */
	/* Number of lines whose time is before the time of the previous line. This means that the
	 * clock was set back. */
	uint64_t set_back;
	char head[SHA256_TEXT]; /* digest of the last line, or "" if the log has no line */
	char day[11];		/* day of the last line in UTC, or "" if the log has no line */
};

/* The digests and other facts that the security logs have about one session. */
struct audit_heads {
	uint8_t (*digests)[AUDIT_DIGEST]; /* digests[i] is the digest of line i + 1 */
	/* known[i] is the number of different digests that the security logs have for line i + 1:
	 * 0, 1, or 2 (2 means more than one). The same digest may be written several times. */
	uint8_t *known;
	size_t count, room;
	/* Number of events that the session lost: they were not written, and only their number is
	 * in the security logs. */
	uint64_t lost;
	bool archive_removed; /* a user has removed the archive on purpose */
	/* Array of files that have the name of a security log, but are not a security log or cannot
	 * be opened: [{"path","why"}]. */
	json_t *passed_over;
};
/* Loads the digests and other facts that the security logs have about one session. `state_path` is
 * the path of the state directory, and not of its directory sessions/. If there are no security
 * logs, *out is empty. A file that is not a security log is skipped. */
int audit_heads_load(const char *state_path, const char *session, struct audit_heads *out,
		     struct error *err);
void audit_heads_free(struct audit_heads *heads); /* accepts a zeroed struct */

/* Reads the whole log from the regular file `fd` and checks it. Returns 0 with the verdict in *out,
 * also for a broken log and for a file that is longer than audit_most_bytes(). Returns -1 if the
 * log cannot be read. If `heads` is NULL, the lines are not compared with the security logs. */
int audit_verify(int fd, const char *session, const struct audit_heads *heads,
		 struct audit_report *out, struct error *err);

enum audit_telemetry_verdict {
	AUDIT_TELEMETRY_NONE, /* the guest has sent no telemetry, and the file does not exist */
	AUDIT_TELEMETRY_WHOLE,
	AUDIT_TELEMETRY_ALTERED,
	AUDIT_TELEMETRY_MISSING
};
extern const char *const audit_telemetry_names[]; /* "none", ... */

struct audit_telemetry {
	enum audit_telemetry_verdict verdict;
	uint64_t bytes;	    /* size of the file in bytes */
	uint64_t confirmed; /* number of bytes, from the file's beginning, for which the log has a
			     * correct digest */
	uint64_t line;	    /* number of the first line of the log whose digest does not match; 0:
			     * there is none */
};
/* Compares the file telemetry.jsonl with the digests in the log. `fd` is a descriptor of the file,
 * or -1 if the file does not exist. Returns 0 with the verdict in *out, also for an altered or
 * missing file. Telemetry that came after the last digest is not checked. */
int audit_verify_telemetry(int log, int fd, struct audit_telemetry *out, struct error *err);

/* A function that gets one line of `len` bytes, including its newline. A line without a newline was
 * cut short, or is continued in the next call. If the function returns -1, no further line is
 * read. */
typedef int audit_line_fn(void *data, const char *line, size_t len, struct error *err);
/* Calls `fn` with each line of the file. A line longer than LIMIT_AUDIT_LINE_BYTES is passed in
 * parts of that size, and only the last part ends with a newline. ERR_IO: the file has more than
 * `most` bytes. Such a file is not read at all, because a sparse file can be empty on the disk and
 * take hours to read. */
int audit_each_line(int fd, off_t most, audit_line_fn *fn, void *data, struct error *err);
/* Does what audit_each_line() does, but skips the lines that are longer than
 * LIMIT_AUDIT_LINE_BYTES. Readers that parse each line use this function, so that they never parse
 * a part of a line as a line. */
int audit_each_whole_line(int fd, off_t most, audit_line_fn *fn, void *data, struct error *err);
/* Return the greatest size in bytes that an audit.log (audit_most_bytes()) and a telemetry.jsonl
 * (audit_telemetry_most_bytes()) can have if only microagent writes the file. */
off_t audit_most_bytes(void);
off_t audit_telemetry_most_bytes(void);

/* --- the archive of a destroyed session ------------------------------------------------------ */

#define ARCHIVE_DIR "archive"
#define SECURITY_DIR "logs"
/* The beginning of the name of a security log. A day and ".log" follow it. */
#define SECURITY_LOG "security-"

/*
 * Closes the log of a session and makes the directory <state>/archive/<session>/. The archive has
 * the log, telemetry.jsonl, events.json and session.json. The session's directory keeps these files
 * until the caller removes the session. The caller must hold the command lock, and no process of
 * the session may live. The function continues the work of an earlier call that was killed.
 * ERR_CONFLICT: an archive with that name has another log. Does nothing for a workspace that is not
 * a session.
 *
 * If audit.log is longer than audit_most_bytes(), somebody else than its writer has changed it.
 * Then the log is archived unchanged, without `audit.closed`, and the event `audit.changed` is
 * written to the security log.
 */
int audit_archive(const struct workspace *ws, struct error *err);

#endif
