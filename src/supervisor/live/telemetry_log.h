/* SPDX-License-Identifier: MIT */
/*
 * telemetry.jsonl of a session: what the guest's own tracing tells, one JSON object on a line with
 * the host's time of its arrival. The guest's word, and no more than LIMIT_TELEMETRY_BYTES of it:
 * what comes above that is counted. The audit log has the digest of the file from time to time, so
 * that what was told once cannot be changed later.
 *
 * The message of the control stream:
 * {"type":"telemetry","format":1,"records":[{...}...],"lost"?:N}; at most TELEMETRY_RECORDS
 * objects, and lost those that the guest itself had to drop before them.
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
	struct sha256 sha; /* of what is in the file */
	bool changed;	   /* since the last digest */
};

/* The message is well formed: -1 and ERR_INVALID. */
int telemetry_check(const json_t *message, struct error *err);
/* Of a telemetry-status: what goes into the audit log, a new object marked as the guest's word, and
 * whether everything is traced. ERR_INVALID for what is not as it must be. */
json_t *telemetry_read_status(const json_t *message, bool *whole, struct error *err);
/* dir: the workspace's. The file is made, or gone on with, when the first record comes. */
void telemetry_open(struct telemetry_log *log, int dir);
/* Takes the records of a checked message. On failure (no room) they count as dropped. */
int telemetry_take(struct telemetry_log *log, const json_t *message, struct error *err);
/* {"bytes","sha256","records","dropped"} when something came since the last call, else NULL. */
json_t *telemetry_digest(struct telemetry_log *log);
void telemetry_close(struct telemetry_log *log);

#endif
