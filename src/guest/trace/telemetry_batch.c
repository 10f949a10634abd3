/* SPDX-License-Identifier: MIT */
#include "guest/trace/telemetry_batch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "guest/writer.h"

#define FORMAT 1
/* A batch with this many bytes of records is full. The record that fills the batch may make it
 * larger. */
#define FULL_BYTES 16384

bool telemetry_is_of_interest(const struct kaudit_event *event)
{
	mode_t mode = (mode_t)event->mode;

	return event->kind != KAUDIT_OPEN || !(S_ISCHR(mode) || S_ISFIFO(mode));
}

/* --- records --------------------------------------------------------------------------------- */

static struct writer begin_record(const char *kind, int64_t real_ms, uint64_t pid)
{
	struct writer w = writer_begin(NULL);
	char at[CLOCK_TEXT];

	clock_rfc3339(real_ms * (int64_t)NS_PER_MS, at);
	writer_text(&w, "kind", kind);
	writer_text(&w, "at", at);
	writer_number(&w, "pid", (int64_t)pid);
	return w;
}

static void put_buf(struct writer *w, const char *key, const struct buf *bytes)
{
	writer_bytes(w, key, buf_bytes(bytes), bytes->len);
}

static void put_argv(struct writer *w, const struct kaudit_event *event)
{
	const uint8_t *p = buf_bytes(&event->argv), *end = p + event->argv.len;

	writer_open_list(w, "argv");
	for (unsigned i = 0; i < event->words; i++) {
		const uint8_t *stop = p < end ? memchr(p, '\0', (size_t)(end - p)) : NULL;
		size_t len = (size_t)((stop ? stop : end) - p);

		writer_list_bytes(w, p, len);
		p += stop ? len + 1 : len;
	}
	writer_close_list(w);
	if (event->truncated && event->argc > event->words)
		writer_number(w, "argc", (int64_t)event->argc);
}

static void put_record_flags(struct writer *w, uint64_t flags)
{
	static const struct {
		uint64_t flag;
		const char *name;
	} names[] = {{O_CREAT, "create"},
		     {O_EXCL, "exclusive"},
		     {O_TRUNC, "truncate"},
		     {O_APPEND, "append"}};

	writer_open_list(w, "flags");
	if ((flags & O_ACCMODE) == O_RDWR)
		writer_list_bytes(w, "read", 4);
	writer_list_bytes(w, "write", 5);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (flags & names[i].flag)
			writer_list_bytes(w, names[i].name, strlen(names[i].name));
	writer_close_list(w);
}

static void put_peer_address(struct writer *w, const struct kaudit_event *event)
{
	char text[INET6_ADDRSTRLEN] = "";
	struct sockaddr_in in = {0};
	struct sockaddr_in6 in6 = {0};
	uint16_t family = 0;

	if (event->address_len >= sizeof(family))
		memcpy(&family, event->address, sizeof(family));
	if (family == AF_INET && event->address_len >= 8) {
		memcpy(&in, event->address,
		       event->address_len < sizeof(in) ? event->address_len : sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
	} else if (family == AF_INET6 && event->address_len >= 24) {
		memcpy(&in6, event->address, event->address_len);
		inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof(text));
	}
	writer_text(w, "family", text[0] ? (family == AF_INET ? "inet" : "inet6") : "unknown");
	writer_text(w, "address", text);
	writer_number(w, "port", ntohs(family == AF_INET ? in.sin_port : in6.sin6_port));
}

char *telemetry_record(const struct kaudit_event *event)
{
	static const char *const kinds[] = {"exec", "open", "connect"};
	struct writer w = begin_record(kinds[event->kind], event->real_ms, event->pid);

	writer_number(&w, "ppid", (int64_t)event->ppid);
	writer_number(&w, "uid", (int64_t)event->uid);
	put_buf(&w, "exe", &event->exe);
	if (event->kind == KAUDIT_EXEC)
		put_argv(&w, event);
	if (event->kind == KAUDIT_OPEN) {
		put_buf(&w, "path", &event->path);
		put_record_flags(&w, event->flags);
	}
	if (event->kind == KAUDIT_CONNECT)
		put_peer_address(&w, event);
	if (event->exit < 0 && event->kind != KAUDIT_EXEC)
		writer_number(&w, "errno", -event->exit);
	writer_if_true(&w, "truncated", event->truncated);
	return writer_end(&w);
}

char *telemetry_written_record(const struct written_file *file)
{
	struct writer w = begin_record("write", file->real_ms, (uint64_t)file->pid);

	writer_text(&w, "path", file->path);
	writer_number(&w, "bytes", (int64_t)file->bytes);
	return writer_end(&w);
}

/* --- batches --------------------------------------------------------------------------------- */

bool telemetry_batch_has_room(const struct telemetry_batch *batch, const char *record)
{
	return batch->count == 0 ||
	       (batch->count < TELEMETRY_BATCH_RECORDS && batch->records.len < FULL_BYTES &&
		batch->records.len + (record ? strlen(record) : 0) < TELEMETRY_MESSAGE_BYTES);
}

static bool is_too_fast(struct telemetry_batch *batch)
{
	uint64_t now = clock_mono_ns();

	if (batch->second_ns == 0 || now - batch->second_ns >= NS_PER_S) {
		batch->second_ns = now;
		batch->in_second = 0;
	}
	return batch->in_second++ >= limit_get(LIMIT_TELEMETRY_RECORDS);
}

void telemetry_batch_add(struct telemetry_batch *batch, char *record)
{
	autofree char *owned = record;
	size_t len = owned ? strlen(owned) : 0;

	if (len == 0 || len > TELEMETRY_MESSAGE_BYTES || is_too_fast(batch)) {
		batch->lost++;
		return;
	}
	if (!buf_reserve(&batch->records, len + 1, NULL)) {
		batch->lost++;
		return;
	}
	if (batch->count > 0)
		buf_append(&batch->records, ",", 1, NULL);
	buf_append(&batch->records, owned, len, NULL);
	batch->count++;
}

char *telemetry_batch_message(struct telemetry_batch *batch)
{
	struct writer w;
	autofree char *list = NULL;
	struct buf text = {0};

	if (batch->count == 0 && batch->lost == 0)
		return NULL;
	if (buf_printf(&text, NULL, "[%s]", buf_string(&batch->records)) == 0)
		list = buf_steal_string(&text, NULL);
	buf_free(&text);
	w = writer_begin(NULL);
	writer_text(&w, "type", "telemetry");
	writer_number(&w, "format", FORMAT);
	writer_raw(&w, "records", list ? list : "[]");
	if (!list)
		batch->lost += batch->count;
	if (batch->lost > 0)
		writer_number(&w, "lost",
			      (int64_t)(batch->lost < UINT32_MAX ? batch->lost : UINT32_MAX));
	buf_free(&batch->records);
	batch->count = 0;
	batch->lost = 0;
	return writer_end(&w);
}

void telemetry_batch_free(struct telemetry_batch *batch)
{
	buf_free(&batch->records);
}

char *telemetry_status(bool syscalls, bool writes, const char *detail)
{
	struct writer w = writer_begin(NULL);

	writer_text(&w, "type", "telemetry-status");
	writer_number(&w, "format", FORMAT);
	writer_bool(&w, "exec", syscalls);
	writer_bool(&w, "files", syscalls);
	writer_bool(&w, "writes", writes);
	writer_bool(&w, "network", syscalls);
	if (detail[0])
		writer_text(&w, "detail", detail);
	return writer_end(&w);
}
