/* SPDX-License-Identifier: MIT */
#include "channel/resumption.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/system.h"
#include "channel/agent_message.h"

/* The largest number of bytes that may be queued for a guest that does not read. Beyond this
 * number, no more messages about the output that was taken are queued, so that the queue does not
 * grow. */
#define QUEUE_MOST ((size_t)512 * 1024)

int resumption_begin(struct resumption *r, uint64_t number, struct error *err)
{
	uint8_t bytes[RESUMPTION_ID / 2];

	if (random_bytes(bytes, sizeof(bytes), err) < 0)
		return -1;
	*r = (struct resumption){
		.on = true,
		.number = number,
		/* This limit is lower than the number of bytes that the agent would take. All kept
		 * bytes are sent again on each new connection, which may break soon and must carry
		 * output too. */
		.kept = BUF_INIT((size_t)limit_get(LIMIT_STDIN_AGAIN_BYTES)),
	};
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(r->exec + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

void resumption_free(struct resumption *r)
{
	r->on = false;
	buf_free(&r->opening);
	buf_free(&r->kept);
}

static int put_offsets(json_t *event, const struct resumption *r, struct error *err)
{
	if (json_put(event, "stdoutOffset", json_integer((json_int_t)r->taken[MICROAGENT_STDOUT]),
		     err) < 0)
		return -1;
	return json_put(event, "stderrOffset",
			json_integer((json_int_t)r->taken[MICROAGENT_STDERR]), err);
}

static void note_acknowledged(struct resumption *r)
{
	for (int i = 0; i < RESUMPTION_STREAMS; i++)
		r->acknowledged[i] = r->taken[i];
}

int resumption_attach(struct resumption *r, struct buf *out, struct error *err)
{
	json_auto_t *event = agent_message_new(r->number, "attach", err);

	if (!event || json_put_string(event, "exec", r->exec, err) < 0 ||
	    put_offsets(event, r, err) < 0 || agent_message_queue(out, event, err) < 0)
		return -1;
	note_acknowledged(r);
	r->attaching = true;
	return r->cancelled ? agent_message_event(out, r->number, "cancel", err) : 0;
}

void resumption_forget(struct resumption *r, uint64_t flying)
{
	buf_consume(&r->kept, r->kept.len - (size_t)flying);
}

int resumption_start(struct resumption *r, struct buf *out, struct error *err)
{
	bool again = r->attaching;
	size_t len;

	r->attaching = false;
	if (!again)
		return 0;
	for (size_t at = 0; at < r->kept.len; at += len) {
		len = r->kept.len - at < AGENT_STDIN_CHUNK ? r->kept.len - at : AGENT_STDIN_CHUNK;
		if (agent_message_stdin(out, r->number, buf_bytes(&r->kept) + at, len, err) < 0)
			return -1;
	}
	return r->stdin_closed ? agent_message_event(out, r->number, "stdin-close", err) : 0;
}

int resumption_ask_again(struct resumption *r, struct buf *out, struct error *err)
{
	r->attaching = false;
	return buf_append(out, buf_bytes(&r->opening), r->opening.len, err);
}

int resumption_took(struct resumption *r, enum microagent_output stream, size_t len,
		    struct buf *out, struct error *err)
{
	json_auto_t *event = NULL;

	r->taken[stream] += len;
	if (r->taken[stream] - r->acknowledged[stream] < limit_get(LIMIT_ACK_BYTES) ||
	    out->len > QUEUE_MOST)
		return 0;
	event = agent_message_new(r->number, "ack", err);
	if (!event || put_offsets(event, r, err) < 0)
		return -1;
	note_acknowledged(r);
	return agent_message_queue(out, event, err);
}

size_t resumption_room(const struct resumption *r)
{
	return r->attaching ? 0 : r->kept.limit - r->kept.len;
}
