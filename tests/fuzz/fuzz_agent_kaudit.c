/* SPDX-License-Identifier: MIT */
/* The kernel's audit records, whose values programs of the guest choose. The input is lines, and
 * the first byte of each is its type. Whatever they contain, the text that is made from them is
 * JSON of bounded size. */
#include <jansson.h>
#include <linux/audit.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "guest/trace/kaudit_event.h"
#include "guest/trace/telemetry_batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_done(void *data, const struct kaudit_event *event)
{
	struct telemetry_batch *batch = data;
	char *record = telemetry_record(event);
	json_auto_t *doc = record ? json_load_strict(record, strlen(record), NULL) : NULL;

	if (!doc || event->argv.len > KAUDIT_ARGV_BYTES || event->words > KAUDIT_ARGV_WORDS ||
	    (event->kind == KAUDIT_EXEC &&
	     json_array_size(json_object_get(doc, "argv")) != event->words))
		abort();
	telemetry_is_of_interest(event);
	if (!telemetry_batch_has_room(batch, record)) {
		autofree char *text = telemetry_batch_message(batch);

		if (!text || strlen(text) > TELEMETRY_MESSAGE_BYTES + 512)
			abort();
	}
	telemetry_batch_add(batch, record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned types[] = {AUDIT_SYSCALL, AUDIT_EXECVE,	AUDIT_CWD, AUDIT_PATH,
					 AUDIT_OPENAT2, AUDIT_SOCKADDR, AUDIT_EOE, AUDIT_USER};
	struct telemetry_batch batch = {0};
	struct kaudit_events events = {.done = on_done, .data = &batch};

	while (size > 0) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t len = end ? (size_t)(end - data) : size;

		if (len > 0)
			kaudit_events_take(&events, types[data[0] % ARRAY_SIZE(types)],
					   (const char *)data + 1, len - 1);
		data += end ? len + 1 : len;
		size -= end ? len + 1 : len;
	}
	kaudit_events_settle(&events);
	kaudit_events_settle(&events);
	kaudit_events_flush(&events);
	kaudit_events_free(&events);
	telemetry_batch_free(&batch);
	return 0;
}
