/* SPDX-License-Identifier: MIT */
/* Functions for one line of an audit log, and for the files of the security log. The writer and the
 * readers of the logs share them. */
#ifndef STORE_AUDIT_LINE_H
#define STORE_AUDIT_LINE_H

#include "store/audit.h"

#define AUDIT_EVENT_OPENED "audit.opened"
#define AUDIT_EVENT_CLOSED "audit.closed"
#define AUDIT_EVENT_TORN "audit.torn"
#define AUDIT_EVENT_GAP "audit.gap"
#define AUDIT_EVENT_CHANGED "audit.changed"
#define AUDIT_EVENT_DESTROYED "session.destroyed"
#define AUDIT_SUBSYSTEM "audit"

/* The pattern of the name of a security log. Each 0 in the pattern stands for any digit. */
#define SECURITY_PATTERN "security-0000-00-00.log"

void audit_digest(const void *bytes, size_t len, uint8_t out[AUDIT_DIGEST]);
/* Reads a digest from its hexadecimal digits. Returns false if the text is not a digest. */
bool audit_unhex(const char *hex, uint8_t out[AUDIT_DIGEST]);
/* Computes the digest that is "prev" in the first line of a log. */
void audit_root(const char *session, const char *nonce, uint8_t out[AUDIT_DIGEST]);

/* Writes the workspace's id without ".bundle" to out. */
void audit_name_session(const struct workspace *ws, char out[AUDIT_SESSION_ROOM]);
/* Returns the path of the file `name` in the session's state directory. The state directory is the
 * parent of the directory sessions/, which contains the workspace. The caller frees the path. */
char *audit_state_path(const struct workspace *ws, const char *name, struct error *err);

/* audit_place.c: removes a file in the directory that has the name of the log but is not a regular
 * file. */
int audit_clear_place(int dirfd, struct error *err);

/* Returns true if the regular file is longer than an audit log can be. */
bool audit_is_too_long(int fd);

enum audit_part audit_line_part(const char *text, size_t len);

/* The members of a line. The pointers are valid as long as the JSON object of the line. */
struct audit_line {
	uint64_t seq;
	const char *ts, *event, *session, *prev;
	json_t *data;
};
int audit_line_read(const json_t *object, struct audit_line *out, struct error *err);

/* Returns the text of a line with its newline. The caller frees the text. If the line would be too
 * long, its data is replaced by the number of omitted bytes. */
char *audit_line_text(const struct audit *audit, const struct audit_event *event,
		      const uint8_t prev[AUDIT_DIGEST], uint64_t seq, size_t *len,
		      struct error *err);

/* Writes an event of the workspace only to the security log, and not to the audit log. */
int audit_note_aside(const struct workspace *ws, const struct audit_event *event,
		     struct error *err);

/* audit_telemetry.c: appends a line with a digest of telemetry.jsonl, if the file has grown since
 * the last digest in the log. The line also says how many bytes of the file had no digest before.
 * Called before the log is closed. */
int audit_vouch_telemetry(const struct workspace *ws, struct audit *audit, struct error *err);

/* security_log.c: appends a line to the security log, with the digest of the line that was just
 * written to the audit log. */
int security_log_write(struct audit *audit, const struct audit_event *event, uint64_t seq,
		       enum store_sync sync, struct error *err);

#endif
