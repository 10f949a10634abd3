/* SPDX-License-Identifier: MIT */
/*
 * Writes telemetry.jsonl of a session: the records of the guest's own tracing, one JSON object in
 * each line, with the host's time at which the record came. The host cannot check the records.
 * The file has at most LIMIT_TELEMETRY_BYTES; further records are only counted. From time to time
 * the digest of the file is written to the audit log, so that nobody can change a record later.
 *
 * The message of the control stream is
 * {"type":"telemetry","format":1,"records":[{...}...],"lost"?:N}. It has at most TELEMETRY_RECORDS
 * records. `lost` is the number of records that the guest had to drop before these records.
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
	/* dir: the workspace's directory, which the caller closes. fd: the file; -1 until a record
	 * has come. */
	int dir, fd;
	uint64_t bytes, records, dropped;
	struct sha256 sha; /* the digest of the bytes in the file */
	bool changed;	   /* records have come or were dropped since the last telemetry_digest() */
};

/* Checks that the message is well formed. ERR_INVALID: the message is malformed. */
int telemetry_check(const json_t *message, struct error *err);
/* Reads a message telemetry-status. Returns the data for the audit log, marked with
 * "origin":"guest". The caller releases the data. Sets *whole to true if everything is traced, else
 * to false. ERR_INVALID: the message is wrong. */
json_t *telemetry_read_status(const json_t *message, bool *whole, struct error *err);
/* Begins the log. `dir` is the workspace's directory. When the first record comes, the file is
 * made, or opened if it exists. */
void telemetry_open(struct telemetry_log *log, int dir);
/* Writes the records of a checked message. If this fails, for example because there is no room, the
 * records count as dropped. */
int telemetry_take(struct telemetry_log *log, const json_t *message, struct error *err);
/* If something has changed since the last call, returns {"bytes","sha256","records","dropped"},
 * which the caller releases; else returns NULL. */
json_t *telemetry_digest(struct telemetry_log *log);
void telemetry_close(struct telemetry_log *log);

#endif
