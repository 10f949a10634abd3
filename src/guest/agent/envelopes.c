/* SPDX-License-Identifier: MIT */
#include "guest/agent/envelopes.h"

#include <ctype.h>
#include <string.h>

#include "base/limits.h"
#include "guest/agent/call_capture.h"
#include "guest/agent/call_file.h"
#include "guest/agent/call_pty.h"

typedef int envelope_starter(struct conn *conn, struct request *request, struct error *err);

static envelope_starter *const starters[REQUEST_KIND_COUNT] = {
	[REQUEST_EXEC] = capture_envelope, [REQUEST_COPYOUT] = call_file,
	[REQUEST_WRITE] = call_file,	   [REQUEST_LIST] = call_file,
	[REQUEST_STAT] = call_file,	   [REQUEST_PTY] = call_pty,
};

static void envelope_error(struct conn *conn, struct error *err)
{
	error_prefix(err, "decode envelope");
	conn_refuse(conn, answer_envelope_error(err->msg, NULL));
}

/* Drops the first JSON value of the input, which has been handled. `len` is the value's length in
 * bytes. */
static void drop_value(struct conn *conn, size_t len)
{
	conn->scan = (struct envelope_scan){0};
	framed_drop(&conn->wire, len);
}

/* Returns true if the first JSON value of the input is an event for a terminal that has ended. A
 * client may send such an event before it learns that the terminal has ended. */
static bool is_late_event(const struct conn *conn, size_t len)
{
	struct pty_event event = {0};
	bool late;

	if (!conn->streaming || pty_event_decode(buf_bytes(&conn->wire.in), len, &event, NULL) < 0)
		return false;
	late = event.kind != PTY_EVENT_ENVELOPE;
	pty_event_free(&event);
	return late;
}

static bool take_request(struct conn *conn, size_t len)
{
	char unknown[128] = "unknown op: ";
	struct request request = {0};
	struct error err = {0};
	int got;

	if (is_late_event(conn, len)) {
		drop_value(conn, len);
		return true;
	}
	got = request_decode_envelope(buf_bytes(&conn->wire.in), len, &request, &err);
	drop_value(conn, len);
	if (got == 0) {
		conn_asked(conn);
		if (starters[request.kind]) {
			got = starters[request.kind](conn, &request, &err);
		} else {
			strncat(unknown, request.op, 64);
			conn_say(conn, answer_envelope_error(unknown, NULL));
		}
	}
	request_free(&request);
	if (got < 0)
		envelope_error(conn, &err);
	return got == 0;
}

static bool take_terminal_event(struct conn *conn, struct call *call, size_t len)
{
	struct pty_event event = {0};
	struct error err = {0};

	if (pty_event_decode(buf_bytes(&conn->wire.in), len, &event, &err) < 0) {
		conn_refuse(conn, pty_event_breach(err.msg, NULL));
		return false;
	}
	conn->held = event.kind == PTY_EVENT_ENVELOPE;
	if (conn->held) {
		conn->scan = (struct envelope_scan){0};
		return false; /* the request waits until the terminal has ended */
	}
	drop_value(conn, len);
	call_pty_event(call, &event);
	pty_event_free(&event);
	return true;
}

/* Returns true if the next request of the connection can be handled now. */
static bool may_take_envelope(const struct conn *conn)
{
	if (conn->waiting)
		return false;
	return conn->ncalls == 0 || (call_pty_open(conn) && !conn->held);
}

static bool take_envelope(struct conn *conn)
{
	struct buf *in = &conn->wire.in;
	struct call *terminal = call_pty_open(conn);
	uint64_t most = limit_get(LIMIT_ENVELOPE_BYTES);
	struct error err = {0};
	size_t len;

	if (!may_take_envelope(conn))
		return false;
	conn->held = false;
	while (in->len > 0 && conn->scan.at == 0 && isspace(*buf_bytes(in)))
		buf_consume(in, 1);
	len = envelope_scan(&conn->scan, buf_bytes(in), in->len);
	if (len > most || (len == 0 && in->len > most)) {
		error_set(
			&err, ERR_INVALID,
			"a request to the guest's agent is longer than %llu bytes, which is the limit: send less in one request",
			(unsigned long long)most);
		if (terminal)
			conn_refuse(conn, pty_event_breach(err.msg, NULL));
		else
			envelope_error(conn, &err);
		return false;
	}
	if (len == 0 && conn->wire.ended)
		len = in->len; /* the client sends no more: the last request has no newline */
	if (len == 0)
		return false;
	return terminal ? take_terminal_event(conn, terminal, len) : take_request(conn, len);
}

const struct conn_form envelopes_form = {
	.most = LIMIT_ENVELOPE_BYTES,
	.send = framed_send_line,
	.step = take_envelope,
	.may_read = may_take_envelope,
	.repeats = true,
};
