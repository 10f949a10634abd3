/* SPDX-License-Identifier: MIT */
/*
 * Collects records of events in batches, and makes a message for the control stream from each
 * batch: {"type":"telemetry","format":1,"records":[...],"lost"?:N}. The number of records in a
 * second is limited. Records above the limit are only counted, in `lost`. `lost` also counts
 * records that the kernel or the tracer has dropped. The functions are pure, except that they read
 * the clock.
 */
#ifndef GUEST_TELEMETRY_BATCH_H
#define GUEST_TELEMETRY_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "guest/trace/kaudit_event.h"
#include "guest/trace/written_files.h"

/* The largest number of records, and of bytes, that the host accepts in one message. */
#define TELEMETRY_BATCH_RECORDS 128
#define TELEMETRY_MESSAGE_BYTES 61440

struct telemetry_batch {
	struct buf records; /* the records as JSON text, with commas between them */
	size_t count;
	uint64_t lost; /* how many records were lost since the last message */
	uint64_t second_ns;
	uint64_t in_second;
};

/* Returns true if the event must be reported. Opens of devices and pipes are not reported, since
 * every shell script opens them for writing. */
bool telemetry_is_of_interest(const struct kaudit_event *event);
/* Functions that return a record as JSON text, which the caller frees, or NULL if there is no
 * memory. */
char *telemetry_record(const struct kaudit_event *event);
char *telemetry_written_record(const struct written_file *file);

/* telemetry_batch_has_room() returns false if the caller must first send the batch.
 * telemetry_batch_add() takes ownership of `record`. */
bool telemetry_batch_has_room(const struct telemetry_batch *batch, const char *record);
void telemetry_batch_add(struct telemetry_batch *batch, char *record);
/* Returns the message and empties the batch. The caller frees the message. Returns NULL if the
 * batch has no record and no count of lost records, or if there is no memory. */
char *telemetry_batch_message(struct telemetry_batch *batch);
void telemetry_batch_free(struct telemetry_batch *batch);

/* Returns the message {"type":"telemetry-status",...}, which says what is traced. The caller frees
 * the message. `detail` is the reason why system calls or writes are not traced, or "". */
char *telemetry_status(bool syscalls, bool writes, const char *detail);

#endif
