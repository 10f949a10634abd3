/* SPDX-License-Identifier: MIT */
/*
 * Writes telemetry.jsonl of a session: what the guest's own tracing tells, one JSON object a line
 * with the host's time of its arrival. It is the guest's word, and at most LIMIT_TELEMETRY_BYTES
 * are kept. What comes above that is counted. The audit log gets the digest of the file from time
 * to time, so that what was told once cannot be changed later.
 *
 * The message of the control stream is
 * {"type":"telemetry","format":1,"records":[{...}...],"lost"?:N}. It has at most TELEMETRY_RECORDS
 * objects. lost counts the records that the guest itself had to drop before them.
 */
#ifndef SUPERVISOR_TELEMETRY_LOG_H
#define SUPERVISOR_TELEMETRY_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "store/audit.h"

#define TELEMETRY_LOG AUDIT_TELEMETRY
#define TELEMETRY_RECORDS 128

struct telemetry_log {
	int dir, fd; /* dir is borrowed; fd -1: not begun */
	uint64_t bytes, records, dropped;
	struct sha256 sha; /* digest of the bytes in the file */
	bool changed;	   /* since the last digest */
};

/* Returns 0 if the message is well formed; otherwise -1 with ERR_INVALID. */
int telemetry_check(const json_t *message, struct error *err);
/* Reads a telemetry-status. Returns what goes into the audit log: a new object, marked as the
 * guest's word. *whole: whether everything is traced. ERR_INVALID: the message is wrong. */
json_t *telemetry_read_status(const json_t *message, bool *whole, struct error *err);
/* Begins the log. dir: the workspace's directory. The file is made, or continued, when the first
 * record comes. */
void telemetry_open(struct telemetry_log *log, int dir);
/* Writes the records of a checked message. If this fails (no room), they count as dropped. */
int telemetry_take(struct telemetry_log *log, const json_t *message, struct error *err);
/* Returns {"bytes","sha256","records","dropped"} if something came since the last call, else
 * NULL. */
json_t *telemetry_digest(struct telemetry_log *log);
void telemetry_close(struct telemetry_log *log);

#endif
