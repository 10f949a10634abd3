/* SPDX-License-Identifier: MIT */
/*
 * From events to messages of the control stream:
 * {"type":"telemetry","format":1,"records":[...],"lost"?:N}. At most so many records a second; what
 * comes above that is counted in `lost`, as is what others dropped on the way. Pure but for the
 * clock.
 */
#ifndef GUEST_TELEMETRY_BATCH_H
#define GUEST_TELEMETRY_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "guest/trace/kaudit_event.h"
#include "guest/trace/written_files.h"

/* What the host takes at once. */
#define TELEMETRY_BATCH_RECORDS 128
#define TELEMETRY_MESSAGE_BYTES 61440

struct telemetry_batch {
	struct buf records; /* with a comma between two */
	size_t count;
	uint64_t lost; /* before these */
	uint64_t second_ns;
	uint64_t in_second;
};

/* Characters and other devices and pipes, which every shell script opens to write, are no files. */
bool telemetry_is_of_interest(const struct kaudit_event *event);
/* A record as JSON; NULL without memory. */
char *telemetry_record(const struct kaudit_event *event);
char *telemetry_written_record(const struct written_file *file);

/* Takes over record. false: the batch has to be sent first. */
bool telemetry_batch_has_room(const struct telemetry_batch *batch, const char *record);
void telemetry_batch_add(struct telemetry_batch *batch, char *record);
/* The message, after which the batch is empty; NULL: there is nothing to tell. */
char *telemetry_batch_message(struct telemetry_batch *batch);
void telemetry_batch_free(struct telemetry_batch *batch);

/* What is traced, {"type":"telemetry-status",...}; detail: why not all of it, or "". */
char *telemetry_status(bool syscalls, bool writes, const char *detail);

#endif
