/* SPDX-License-Identifier: MIT */
/*
 * Writes telemetry.jsonl of a session: the records of the guest's own tracing, one JSON object in
 * each line, with the host's time at which the record came. The host cannot check if the records
 * are true. The file has at most LIMIT_TELEMETRY_BYTES bytes; further records are only counted. At
 * intervals the digest of the file is written to the audit log, so that a later change of a record
 * is noticed.
 *
 * The message of the control stream is
 * {"type":"telemetry","format":1,"records":[{...}...],"lost"?:N}. A message has at most
 * TELEMETRY_RECORDS records. `lost` is the number of records that the guest dropped before the
 * first of these records.
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
	/* dir is the descriptor of the workspace's directory, which the caller closes. fd is the
	 * descriptor of the file; -1 until records have come. */
	int dir, fd;
	uint64_t bytes, records, dropped;
	struct sha256 sha; /* the digest of the bytes in the file */
	bool changed;	   /* records have come or were dropped since the last call of
			    * telemetry_digest() */
};

/* Checks that the message is well formed. ERR_INVALID: the message is malformed. */
int telemetry_check(const json_t *message, struct error *err);
/* Reads a message telemetry-status. Returns the data for the audit log, marked with
 * "origin":"guest". The caller releases the data. Sets *whole to true if the guest traces
 * everything, otherwise to false. ERR_INVALID: the message is not valid. */
json_t *telemetry_read_status(const json_t *message, bool *whole, struct error *err);
/* Starts the log. `dir` is the workspace's directory. The file is opened, or made if it does not
 * exist, when the first records come. */
void telemetry_open(struct telemetry_log *log, int dir);
/* Writes the records of a checked message. Records that cannot be written, for example because
 * there is no room, count as dropped. */
int telemetry_take(struct telemetry_log *log, const json_t *message, struct error *err);
/* If records have come or were dropped since the last call, returns
 * {"bytes","sha256","records","dropped"}, which the caller releases. Otherwise returns NULL. */
json_t *telemetry_digest(struct telemetry_log *log);
void telemetry_close(struct telemetry_log *log);

#endif
