/* SPDX-License-Identifier: MIT */
/*
 * The audit log of a session: audit.log in its directory, JSON lines
 *
 *   {"ts","severity","subsystem","event","session","seq","data","prev"}
 *
 * seq is the number of the line, from 1. prev is the SHA-256 of the exact bytes of the line before,
 * its newline included; that of the first line is of "<session>\n<nonce>", and the nonce is in its
 * data. A destroyed session's log ends with `audit.closed`, which has the number of lines. What is
 * written is never changed: a line can be neither altered nor taken out nor put in without breaking
 * the chain, and since the digest of each line also goes to <state>/logs/security-YYYY-MM-DD.log,
 * the end cannot be cut off unnoticed either.
 *
 * One process writes: who holds the lease (the live supervisor), or where nobody does, who holds
 * the command lock. Only a workspace with a session.json or a sandbox.json has such a log.
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
/* A workspace that is no session and has such a log too: {"id": of the container that it was made
 * for, "root": microagent-oci's --root}. */
#define SANDBOX_RECORD "sandbox.json"

/* The guest's word beside it, whose digests are in the log. */
#define AUDIT_TELEMETRY "telemetry.jsonl"
#define AUDIT_DIGEST SHA256_BYTES
#define AUDIT_SESSION_ROOM 136
/* More than a line has beside its data. */
#define AUDIT_LINE_FRAME 512

enum audit_severity { AUDIT_INFO, AUDIT_WARNING, AUDIT_CRITICAL };

/* Whose doing a line is: the host's own; seen by the host, and at the guest's will (subsystem
 * "network"); the guest's word ("origin":"guest"). What one of them takes is not another's. */
enum audit_part { AUDIT_PART_HOST, AUDIT_PART_NETWORK, AUDIT_PART_GUEST, AUDIT_PARTS };

struct audit_event {
	enum audit_severity severity;
	const char *subsystem; /* "session", "exec", "network"... */
	const char *event;     /* "session.cloned" */
	const json_t *data;    /* object; NULL: {} */
	int64_t real_ns;       /* when it was; 0: now */
};

/* --- writing --------------------------------------------------------------------------------- */

/* What somebody else has done to a log since our last line. The last three are of today's security
 * log: no name is left of it; another file, or none, has its name; it is shorter than it was. */
enum audit_tampering {
	AUDIT_UNTOUCHED,
	AUDIT_REMOVED,	/* no file has its name */
	AUDIT_REPLACED, /* another file has its name */
	AUDIT_SHORTENED,
	AUDIT_LENGTHENED,
	AUDIT_SECURITY_REMOVED,
	AUDIT_SECURITY_MOVED,
	AUDIT_SECURITY_SHORTENED
};
extern const char *const audit_tampering_names[]; /* "untouched", ... */

/* Bytes, which have the digest that a line ends with. */
#define SECURITY_TAIL 128

struct audit {
	int fd;
	int dirfd;  /* the workspace's own, which stays open for as long as the log does */
	char *logs; /* <state>/logs */
	char session[AUDIT_SESSION_ROOM];
	uint64_t lines;
	off_t end;		    /* of what is known to be whole */
	uint64_t used[AUDIT_PARTS]; /* bytes, earlier writers' too */
	uint8_t head[AUDIT_DIGEST];
	bool closed;
	bool last_words; /* are written: also to a log that is full */
	bool destroyed;	 /* a line says so: all that may follow is the closing one */
	int security_fd; /* of the day that security_day names; -1: none yet */
	char security_day[11];
	off_t security_end; /* of that file, when it was last looked at or written to */
	uint8_t security_tail[SECURITY_TAIL]; /* what it had before that end */
	size_t security_tail_len;
	bool security_away; /* its path has no such file, and none can be made there */
	enum audit_tampering security_tampering; /* of that file, found and not yet told */
	bool unsynced;	     /* lines were written that may not be on the disk yet */
	uint64_t heads_lost; /* of lines of this log, that the security log had no room for */
};
#define AUDIT_NONE                                       \
	{                                                \
		.fd = -1, .dirfd = -1, .security_fd = -1 \
	}

/* The workspace is a session or a sandbox. */
bool audit_is_kept(const struct workspace *ws);
bool audit_is_of_sandbox(const struct workspace *ws); /* of one that has a log */
/*
 * Opens the log to go on with it, or begins it. A session that has been started has had one: if it
 * is gone, the new one has a CRITICAL `audit.changed` behind its first line. Behind a line that a
 * crash cut short the log goes on with `audit.torn`, which has that line's digest, so that
 * audit_verify() can tell a crash from a forgery. ERR_IO: the file is longer than a log can be.
 */
int audit_open(const struct workspace *ws, struct audit *out, struct error *err);
/*
 * Appends a line, with one write, and its digest to the security log. STORE_SYNC: both are on the
 * disk when it returns. On failure (no room) the log is as it was. ERR_CONFLICT: the log is closed.
 * A security log without room is no failure: heads_lost counts.
 */
int audit_append(struct audit *audit, const struct audit_event *event, enum store_sync sync,
		 struct error *err);
enum audit_tampering audit_tampering(const struct audit *audit); /* of the audit log */
/*
 * Gives the name of a log that was removed or replaced to a copy of it, to which later lines go.
 * What is in its place is removed. On failure lines still go to the file that is open: a later
 * call finds them there, and the security log has their digests.
 */
int audit_put_back(struct audit *audit, struct error *err);
/* Everything that was appended is on the disk. */
int audit_sync(struct audit *audit, struct error *err);
/* The last line. Success when it is there already. */
int audit_finish(struct audit *audit, struct error *err);
/* An event that the audit log cannot have: a line of the security log, with data, and without
 * number and digest. Of the log only the session and the security log are used. */
int security_log_aside(struct audit *audit, const struct audit_event *event, struct error *err);
/* The same for a session of the state directory at state_path that has no audit log. */
int security_log_note(const char *state_path, const char *session, const struct audit_event *event,
		      struct error *err);
/*
 * Looks whether today's security log is still the file at its path, and has what it had when we
 * looked last or wrote to it, also of others. security_tampering says what was found. Later lines go to the file at the path,
 * which is made where it is missing. Where that fails they go to the old file, and count as lines
 * without a digest. Each line that is written begins with such a look.
 */
void security_log_look(struct audit *audit);
/* Makes what was written to the security log last until after a loss of power. */
int security_log_sync(struct audit *audit, struct error *err);
/* The broker's part, by which the three above write where there is a broker: it appends the lines
 * itself, and hands out no descriptor. Its data: a struct audit of the broker's own, of which the
 * session and what is said of the security log are used. It appends no line of another session, and
 * none of the events that only commands write. */
extern const struct broker_duty security_log_duty;
#define SECURITY_ORPHANED "session.orphaned"
/* The kinds of session.orphaned that are the end of what has no log any more. */
#define SECURITY_KIND_GONE "bundle-removed"
#define SECURITY_KIND_LOST "process-without-bundle"
#define SECURITY_ACTION_REMOVED "removed" /* its action: by us */
/* An archive was removed because somebody asked for it. */
#define SECURITY_ARCHIVE_REMOVED "archive.removed"
/* Whether a security log of that day ("2026-11-27") is there and can be read. */
bool security_log_has_day(const char *state_path, const char *day);
/* Each session of which the security log has lines: true where it tells of the end, too. */
int security_log_sessions(const char *state_path, json_t *out, struct error *err);
void audit_release(struct audit *audit); /* accepts AUDIT_NONE; leaves it */
#define auto_audit __attribute__((cleanup(audit_release)))

/* Opens, appends one line, closes. Does nothing for a workspace that has no audit log. A CRITICAL
 * event that cannot be written is noted in the security log, and the call fails all the same. */
int audit_note(const struct workspace *ws, const struct audit_event *event, struct error *err);

/* The line on what its live supervisor is told by others. what, and name: "forked", the child's;
 * "snapshot", "snapshot-deleted", "restored", the snapshot's; "share-missing", the path of a directory
 * that its machine could not be given again; "created", "deleted", of a container; more has the rest
 * (NULL: nothing). *line is without data, which is for the caller to
 * free. ERR_INVALID. */
int audit_told_line(const struct workspace *ws, const char *what, const char *name, json_t *more,
		    struct audit_event *line, json_t **data, struct error *err);

/* The digest of telemetry.jsonl as it is, if there is one: for who finds that nobody writes it any
 * more. */
int audit_note_telemetry(const struct workspace *ws, struct error *err);

/* --- reading --------------------------------------------------------------------------------- */

enum audit_verdict {
	AUDIT_OPEN,
	AUDIT_CLOSED,
	AUDIT_TORN,
	AUDIT_BROKEN,
	/* A closed log, whole, of which the security log of its day has no line. audit_verify() does not
	 * know that. */
	AUDIT_UNCONFIRMED
};
extern const char *const audit_verdict_names[]; /* "open", ... */

struct audit_report {
	enum audit_verdict verdict;
	uint64_t lines;		/* that were looked at; of a broken log those before the bad one */
	uint64_t bad_line;	/* the first, from 1; 0: none */
	char why[256];		/* what is wrong with it */
	uint64_t confirmed;	/* lines whose digest the security log has */
	uint64_t unconfirmed;	/* the first line whose digest it does not have; 0: none */
	uint64_t lost;		/* events that were not written down, as the logs say */
	uint64_t set_back;	/* lines that are earlier than the line before: the clock was set */
	char head[SHA256_TEXT]; /* digest of the last line; "" without one */
	char day[11];		/* of the last line, in UTC; "" without one */
};

/* What the security logs have of one session. */
struct audit_heads {
	uint8_t (*digests)[AUDIT_DIGEST]; /* of line i + 1 */
	uint8_t *known; /* 0: not there; 1: once or always the same; 2: different ones */
	size_t count, room;
	uint64_t lost;	      /* events of which only their number was written, and only there */
	bool archive_removed; /* on purpose */
	/* What is called as a security log and is none, or cannot be opened: [{"path","why"}]. */
	json_t *passed_over;
};
/* state_path: of the state directory, not of sessions/. Without security logs it is empty. What
 * is no security log is passed over, and the others are read. */
int audit_heads_load(const char *state_path, const char *session, struct audit_heads *out,
		     struct error *err);
void audit_heads_free(struct audit_heads *heads); /* accepts a zeroed one */

/* Reads the whole log from fd (a regular file). That it is bad, or longer than a log can be, is an
 * answer: -1 means that it cannot be read. heads may be NULL. */
int audit_verify(int fd, const char *session, const struct audit_heads *heads,
		 struct audit_report *out, struct error *err);

enum audit_telemetry_verdict {
	AUDIT_TELEMETRY_NONE, /* nothing was ever told, and there is no file */
	AUDIT_TELEMETRY_WHOLE,
	AUDIT_TELEMETRY_ALTERED,
	AUDIT_TELEMETRY_MISSING
};
extern const char *const audit_telemetry_names[]; /* "none", ... */

struct audit_telemetry {
	enum audit_telemetry_verdict verdict;
	uint64_t bytes;	    /* of the file */
	uint64_t confirmed; /* of them those that the log has a digest of, which is right */
	uint64_t line; /* of the log, the first whose digest is not that of the file; 0: none */
};
/* Compares telemetry.jsonl (fd; -1: there is none) with what the log says of it. That it is altered
 * or missing is an answer. What was told since the last digest is confirmed by none. */
int audit_verify_telemetry(int log, int fd, struct audit_telemetry *out, struct error *err);

/* line: len bytes with its newline, or without where it is cut short. -1 ends the reading. */
typedef int audit_line_fn(void *data, const char *line, size_t len, struct error *err);
/* Calls fn with each line of the file. A line that is longer than LIMIT_AUDIT_LINE_BYTES comes in parts of
 * that size, and only the last part ends with a newline. A file of more than `most` bytes is not read at
 * all (ERR_IO), since a sparse file takes no room and hours to read. */
int audit_each_line(int fd, off_t most, audit_line_fn *fn, void *data, struct error *err);
/* The same without the lines that are longer than LIMIT_AUDIT_LINE_BYTES: for a reader that parses what it
 * is given, and must not take a part for a line. */
int audit_each_whole_line(int fd, off_t most, audit_line_fn *fn, void *data, struct error *err);
/* The most bytes that an audit.log, or a telemetry.jsonl, has by its writer's own bounds. */
off_t audit_most_bytes(void);
off_t audit_telemetry_most_bytes(void);

/* --- after the session ----------------------------------------------------------------------- */

#define ARCHIVE_DIR "archive"
#define SECURITY_DIR "logs"
#define SECURITY_LOG "security-" /* a day, ".log" */

/*
 * For who removes a session, with the command lock in hand and nothing alive: closes its log, and
 * makes <state>/archive/<session>/ of it, telemetry.jsonl, events.json and session.json, which the
 * session's directory keeps. What an earlier call was killed at is gone on with. ERR_CONFLICT:
 * there is an archive of that name with another log. Nothing for a workspace that is no session.
 * A file that is longer than a log can be is not closed: it is kept as it is, and the security log
 * has an `audit.changed`.
 */
int audit_archive(const struct workspace *ws, struct error *err);

#endif
