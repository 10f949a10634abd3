/* SPDX-License-Identifier: MIT */
/*
 * The audit log of a session: the file audit.log in the session's directory. It has JSON lines:
 *
 *   {"ts","severity","subsystem","event","session","seq","data","prev"}
 *
 * seq is the number of the line, from 1. prev is the SHA-256 of the exact bytes of the line before,
 * with the newline of that line. prev of the first line is the SHA-256 of "<session>\n<nonce>", and
 * the nonce is in the data of the first line. The log of a destroyed session ends with
 * `audit.closed`, which has the number of lines. A written line is never changed. Nobody can alter,
 * remove or insert a line without breaking the chain. The digest of each line is also written to
 * <state>/logs/security-YYYY-MM-DD.log, so a log whose last lines were cut off is noticed too.
 *
 * Only one process writes the log: the holder of the lease (the live supervisor). If nobody holds
 * the lease, it is the holder of the command lock. Only a workspace with a session.json or a
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
/* The record of a sandbox: a workspace that is no session and has an audit log too. The record is
 * {"id": the id of the container for which the workspace was made, "root": the value of --root of
 * microagent-oci}. */
#define SANDBOX_RECORD "sandbox.json"

/* The file with the telemetry that the guest has sent. It lies beside the audit log, and the log
 * has digests of the file. */
#define AUDIT_TELEMETRY "telemetry.jsonl"
#define AUDIT_DIGEST SHA256_BYTES
#define AUDIT_SESSION_ROOM 136
/* A number of bytes, greater than the part of a line that is not its data. */
#define AUDIT_LINE_FRAME 512

enum audit_severity { AUDIT_INFO, AUDIT_WARNING, AUDIT_CRITICAL };

/* The three parts of a log, by the cause of their lines: the host itself; the guest's behaviour as
 * the host saw it (subsystem "network"); and the messages of the guest ("origin":"guest"). Each
 * part has room of its own in the log, which lines of the other parts cannot use up. */
enum audit_part { AUDIT_PART_HOST, AUDIT_PART_NETWORK, AUDIT_PART_GUEST, AUDIT_PARTS };

struct audit_event {
	enum audit_severity severity;
	const char *subsystem; /* "session", "exec", "network"... */
	const char *event;     /* "session.cloned" */
	const json_t *data;    /* an object; NULL stands for {} */
	int64_t real_ns;       /* the time of the event; 0: now */
};

/* --- writing --------------------------------------------------------------------------------- */

/* The changes that another process has made to the audit log, or to today's security log, since
 * this process wrote its last line. */
enum audit_tampering {
	AUDIT_UNTOUCHED,
	AUDIT_REMOVED,	/* no file has the log's name */
	AUDIT_REPLACED, /* another file has the log's name */
	AUDIT_SHORTENED,
	AUDIT_LENGTHENED,
	AUDIT_SECURITY_REMOVED,	 /* the open file of the security log has no name any more */
	AUDIT_SECURITY_MOVED,	 /* the path of the security log leads to another file than the
				  * open one, or to none */
	AUDIT_SECURITY_SHORTENED /* the security log is shorter than it was */
};
extern const char *const audit_tampering_names[]; /* "untouched", ... */

/* A number of bytes at the end of the security log, enough to contain the digest at the end of the
 * last line. */
#define SECURITY_TAIL 128

struct audit {
	int fd;
	int dirfd;  /* the workspace's descriptor, which stays open as long as the log */
	char *logs; /* <state>/logs */
	char session[AUDIT_SESSION_ROOM];
	uint64_t lines;
	off_t end;		    /* the offset behind the last line that is known to be whole */
	uint64_t used[AUDIT_PARTS]; /* bytes that each part has used, also by earlier writers */
	uint8_t head[AUDIT_DIGEST];
	bool closed;
	bool last_words; /* the last lines are being written: a full log takes these lines too */
	/* A line says that the session is destroyed. Only the closing line may follow. */
	bool destroyed;
	int security_fd; /* the security log of `security_day`; -1: none yet */
	char security_day[11];
	off_t security_end; /* the end of the security log at the last look or write */
	/* The last bytes of the security log before `security_end`. */
	uint8_t security_tail[SECURITY_TAIL];
	size_t security_tail_len;
	/* The security log is missing at its path, and cannot be made. */
	bool security_away;
	/* A change of the security log that was found and is not written to the audit log yet. */
	enum audit_tampering security_tampering;
	bool unsynced; /* some written lines may not be on the disk yet */
	/* Digests of lines of this log for which the security log had no room. */
	uint64_t heads_lost;
};
#define AUDIT_NONE                                       \
	{                                                \
		.fd = -1, .dirfd = -1, .security_fd = -1 \
	}

/* Returns whether the workspace has an audit log: whether it is a session or a sandbox. */
bool audit_is_kept(const struct workspace *ws);
bool audit_is_of_sandbox(const struct workspace *ws); /* returns whether it is a sandbox; only
						       * for a workspace with an audit log */
/*
 * Opens the log to append to it, or begins a new log. A session that was started must have a log.
 * If that log is missing, the new log has a CRITICAL `audit.changed` behind its first line. If a
 * crash cut the last line short, the log continues with `audit.torn`. That line has the digest of
 * the cut line, so that audit_verify() can tell a crash from a forgery. ERR_IO: the file is longer
 * than audit_most_bytes().
 */
int audit_open(const struct workspace *ws, struct audit *out, struct error *err);
/*
 * Appends a line with one write, and appends the digest of the line to the security log. With
 * STORE_SYNC both are on the disk when the function returns. If the function fails, for example
 * because there is no room, the log is as it was before. ERR_CONFLICT: the log is closed. If the
 * digest cannot be appended to the security log, the function succeeds, and heads_lost counts the
 * digest.
 */
int audit_append(struct audit *audit, const struct audit_event *event, enum store_sync sync,
		 struct error *err);
/* Checks the audit log, but not the security log. */
enum audit_tampering audit_tampering(const struct audit *audit);
/*
 * Puts a copy of a removed or replaced log under the log's name. Later lines are written to the
 * copy. A file that has taken the log's name is removed. If the function fails, later lines are
 * still written to the open file: a later call copies these lines too, and the security log has
 * their digests.
 */
int audit_put_back(struct audit *audit, struct error *err);
/* Waits until everything that was appended is on the disk. */
int audit_sync(struct audit *audit, struct error *err);
/* Writes `audit.closed`, the last line of the log. Returns success if the log already has it. */
int audit_finish(struct audit *audit, struct error *err);
/* Writes an event to the security log that the audit log cannot have. The line has data, but no
 * number and no digest. The function uses only the session and the members about the security log
 * of `audit`. */
int security_log_aside(struct audit *audit, const struct audit_event *event, struct error *err);
/* Writes an event to the security log for a session without an audit log. `state_path` is the path
 * of the session's state directory. The line has the form of a line of security_log_aside(). */
int security_log_note(const char *state_path, const char *session, const struct audit_event *event,
		      struct error *err);
/*
 * Checks whether the open security log is still the file at the path of today's security log.
 * Checks also whether the file still has the bytes that it had at the last check or write of this
 * process, including lines of other processes. Stores the finding in security_tampering. Later
 * lines are written to the file at the path, which is made if it is missing. If it cannot be made,
 * later lines are written to the old file and count as lines without a digest. Each write of a line
 * begins with this check.
 */
void security_log_look(struct audit *audit);
/* Syncs the security log to the disk, so that the written lines survive a loss of power. */
int security_log_sync(struct audit *audit, struct error *err);
/* The broker's duty for the security log. In a process that has a broker, the functions above write
 * to the security log through the broker. The broker appends the lines itself and hands out no
 * descriptor. The duty's data is a struct audit of the broker's own, of which only the session and
 * the members about the security log are used. The broker refuses a line of another session, and
 * the events that only commands write. */
extern const struct broker_duty security_log_duty;
#define SECURITY_ORPHANED "session.orphaned"
/* The values are the two kinds of the event session.orphaned that report the end of a session
 * without an audit log. */
#define SECURITY_KIND_GONE "bundle-removed"
#define SECURITY_KIND_LOST "process-without-bundle"
/* The value is the action of the event session.orphaned if the command has removed the session. */
#define SECURITY_ACTION_REMOVED "removed"
/* The value is the name of the event that an archive was removed because a user asked for this. */
#define SECURITY_ARCHIVE_REMOVED "archive.removed"
/* Returns whether a readable security log of that day ("2026-11-27") exists. */
bool security_log_has_day(const char *state_path, const char *day);
/* Adds each session that has lines in the security logs to the object `out`, by its name. The value
 * is true if the lines also tell of the session's end, else false. */
int security_log_sessions(const char *state_path, json_t *out, struct error *err);
void audit_release(struct audit *audit); /* accepts AUDIT_NONE, and sets it */
#define auto_audit __attribute__((cleanup(audit_release)))

/* Opens the log, appends one line and releases the log. Does nothing for a workspace without an
 * audit log. If a CRITICAL event cannot be written, the event is noted in the security log, and the
 * call still fails. */
int audit_note(const struct workspace *ws, const struct audit_event *event, struct error *err);

/* Makes the line about an event that a command tells the live supervisor. `what` is the kind of the
 * event, and the meaning of `name` depends on it. "forked": the name of the new session. "on-fork":
 * the name of the session that was forked. "snapshot", "snapshot-deleted" and "restored": the name
 * of the snapshot. "share-missing": the path of a directory that the machine could not get again.
 * "created" and "deleted": the name of a container. `more` has other members of the data (NULL:
 * none). line->data is not set: the caller sets it to *data, and releases *data. ERR_INVALID: there
 * is no such kind, or the name is too long. */
int audit_told_line(const struct workspace *ws, const char *what, const char *name, json_t *more,
		    struct audit_event *line, json_t **data, struct error *err);

/* Notes the digest of the present telemetry.jsonl in the log, if that file exists. A command calls
 * this when it finds that no process writes the file any more. */
int audit_note_telemetry(const struct workspace *ws, struct error *err);

/* --- reading --------------------------------------------------------------------------------- */

enum audit_verdict {
	AUDIT_OPEN,
	AUDIT_CLOSED,
	AUDIT_TORN,
	AUDIT_BROKEN,
	/* A whole, closed log that has no line in the security log of its day. audit_verify() never
	 * returns this verdict. */
	AUDIT_UNCONFIRMED
};
extern const char *const audit_verdict_names[]; /* "open", ... */

struct audit_report {
	enum audit_verdict verdict;
	/* Lines that were read; in a broken log those before the bad line. */
	uint64_t lines;
	uint64_t bad_line;    /* the first bad line, from 1; 0: none */
	char why[256];	      /* what is wrong with the bad line */
	uint64_t confirmed;   /* lines whose digest the security log has */
	uint64_t unconfirmed; /* the first line whose digest the security log lacks; 0: none */
	uint64_t lost;	      /* events that were not written, as the logs say */
	/* Lines with an earlier time than the line before: the clock was set back. */
	uint64_t set_back;
	char head[SHA256_TEXT]; /* digest of the last line; "" without a line */
	char day[11];		/* the day of the last line, in UTC; "" without a line */
};

/* The digests and other facts that the security logs have about one session. */
struct audit_heads {
	uint8_t (*digests)[AUDIT_DIGEST]; /* digests[i] is the digest of line i + 1 */
	/* known[i] tells which digests the logs have for line i + 1. 0: none; 1: one digest, also
	 * if it is written several times; 2: different digests. */
	uint8_t *known;
	size_t count, room;
	/* The number of events that were not written one by one: only their number was written, and
	 * only to the security logs. */
	uint64_t lost;
	bool archive_removed; /* a user removed the archive on purpose */
	/* The files that have the name of a security log, but are no security log or cannot be
	 * opened:
	 * [{"path","why"}]. */
	json_t *passed_over;
};
/* Loads the digests and facts that the security logs have about one session. `state_path` is the
 * path of the state directory, not of sessions/. *out is empty if there are no security logs. A
 * file that is no security log is skipped. */
int audit_heads_load(const char *state_path, const char *session, struct audit_heads *out,
		     struct error *err);
void audit_heads_free(struct audit_heads *heads); /* accepts a zeroed struct */

/* Reads the whole log from `fd` (a regular file) and checks it. Returns 0 also for a bad log, and
 * for a file that is longer than audit_most_bytes(): *out has the verdict. Returns -1 if the log
 * cannot be read. `heads` may be NULL: the lines are not compared with the security logs then. */
int audit_verify(int fd, const char *session, const struct audit_heads *heads,
		 struct audit_report *out, struct error *err);

enum audit_telemetry_verdict {
	AUDIT_TELEMETRY_NONE, /* the guest has sent no telemetry, and there is no file */
	AUDIT_TELEMETRY_WHOLE,
	AUDIT_TELEMETRY_ALTERED,
	AUDIT_TELEMETRY_MISSING
};
extern const char *const audit_telemetry_names[]; /* "none", ... */

struct audit_telemetry {
	enum audit_telemetry_verdict verdict;
	uint64_t bytes;	    /* bytes of the file */
	uint64_t confirmed; /* bytes from the beginning that a correct digest in the log covers */
	uint64_t line;	    /* the first line of the log whose digest does not match; 0: none */
};
/* Compares telemetry.jsonl (`fd`; -1: there is no file) with the digests in the log. Returns 0 also
 * for an altered or missing file: *out has the verdict. Telemetry that came after the last digest
 * is confirmed by no digest. */
int audit_verify_telemetry(int log, int fd, struct audit_telemetry *out, struct error *err);

/* Receives one line of `len` bytes, with its newline. A line that is cut short has no newline. If
 * the function returns -1, the reading ends. */
typedef int audit_line_fn(void *data, const char *line, size_t len, struct error *err);
/* Calls `fn` with each line of the file. A line that is longer than LIMIT_AUDIT_LINE_BYTES comes in
 * parts of that size, and only the last part ends with a newline. A file of more than `most` bytes
 * gives ERR_IO and is not read at all, since a sparse file can take no room on the disk and hours
 * to read. */
int audit_each_line(int fd, off_t most, audit_line_fn *fn, void *data, struct error *err);
/* Works like audit_each_line(), but skips the lines that are longer than LIMIT_AUDIT_LINE_BYTES. A
 * reader that parses each line uses this function, so that it never takes a part for a line. */
int audit_each_whole_line(int fd, off_t most, audit_line_fn *fn, void *data, struct error *err);
/* Functions that return the greatest size in bytes that the writer's own bounds allow for an
 * audit.log, and for a telemetry.jsonl. */
off_t audit_most_bytes(void);
off_t audit_telemetry_most_bytes(void);

/* --- after the session ----------------------------------------------------------------------- */

#define ARCHIVE_DIR "archive"
#define SECURITY_DIR "logs"
/* The value is the beginning of the name of a security log; a day and ".log" follow. */
#define SECURITY_LOG "security-"

/*
 * Closes the log of a session and makes <state>/archive/<session>/. The archive has the log,
 * telemetry.jsonl, events.json and session.json. The session's directory keeps these files too. The
 * caller removes the session, has the command lock, and knows that nothing of the session is alive.
 * The function continues the work of an earlier call that was killed. ERR_CONFLICT: an archive of
 * that name with another log exists. Does nothing for a workspace that is no session. If audit.log
 * is longer than audit_most_bytes(), the writer of the log cannot have made it: then the log is
 * archived as it is, without `audit.closed`, and the security log gets the event `audit.changed`.
 */
int audit_archive(const struct workspace *ws, struct error *err);

#endif
