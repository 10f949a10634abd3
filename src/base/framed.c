/* SPDX-License-Identifier: MIT */
#include "base/framed.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/limits.h"

#define READ_CHUNK 65536
/* The largest block, in bytes, that an empty queue keeps. Usual messages fit into it, so a queue
 * for them is not allocated again and again. */
#define KEPT_BYTES 1048576

/* --- the socket or the carrier --------------------------------------------------------------- */

static void on_framed_event(struct loop *loop, int fd, uint32_t events, void *data);

static ssize_t carried_send(const struct framed *f, const void *data, size_t len)
{
	if (f->stream)
		return f->carrier->send(f->stream, data, len);
	return send(f->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t carried_receive(const struct framed *f, void *data, size_t len)
{
	if (f->stream)
		return f->carrier->receive(f->stream, data, len);
	return recv(f->fd, data, len, MSG_DONTWAIT);
}

static int carried_watch(struct framed *f, uint32_t events)
{
	if (!f->stream)
		return loop_set_events(f->watch, events, NULL);
	f->carrier->watch(f->stream, events, on_framed_event, f);
	return 0;
}

void framed_end_sending(struct framed *f)
{
	if (f->stream)
		f->carrier->end_sending(f->stream);
	else
		shutdown(f->fd, SHUT_WR);
}

/* --- the stream ------------------------------------------------------------------------------ */

static bool framed_is_paused(const struct framed *f)
{
	return !f->reading || f->ended;
}

/*
 * Watches the events that are needed now. While input is wanted, the events are level-triggered.
 * While input is not wanted, the events are edge-triggered: if the peer has shut down its sending
 * side, level-triggered events would be reported again and again. When the peer has closed its
 * socket, one more edge-triggered event is reported.
 *
 * On vsock, the event that reports LOOP_RDHUP may be missing: while bytes of the peer wait to be
 * read, the kernel does not report that the peer sends no more. But the kernel learns at once that
 * the peer accepts no more bytes, and then wakes all waiters of the socket, without a flag of its
 * own for this. So LOOP_OUT is watched too: since the socket has room, LOOP_OUT is reported
 * whenever the waiters are woken.
 */
static void framed_watch(struct framed *f)
{
	uint32_t events = LOOP_RDHUP;

	if (!framed_is_open(f))
		return;
	events |= framed_is_paused(f) ? LOOP_EDGE | LOOP_OUT : LOOP_IN;
	/* LOOP_OUT is also needed if a send outside the loop has emptied a queue that was full.
	 * Then drained() must be called, and only the loop may call it. */
	if (f->out.len > 0 || f->full)
		events |= LOOP_OUT;
	if (events != f->events && carried_watch(f, events) == 0)
		f->events = events;
}

static void framed_lose(struct framed *f, const char *why)
{
	if (!framed_is_open(f))
		return;
	framed_close(f);
	f->owner->lost(f->data, why);
}

static void on_send_failure(struct loop *loop, void *data)
{
	struct framed *f = data;

	(void)loop;
	f->failure = NULL;
	framed_lose(f, "sending failed");
}

void framed_flush(struct framed *f)
{
	size_t limit = (size_t)limit_get(LIMIT_AGENT_QUEUE_BYTES);

	if (!framed_is_open(f) || f->out.len == 0)
		return;
	while (f->out.len > 0) {
		ssize_t n = carried_send(f, buf_bytes(&f->out), f->out.len);

		if (n >= 0) {
			buf_consume(&f->out, (size_t)n);
		} else if (errno == EAGAIN) {
			break;
		} else if (errno != EINTR) {
			/* Callbacks are called only from the loop, so a failed send is reported in
			 * the next round. If `hears_out` is set, the failure is not reported: the
			 * callbacks first get the peer's last bytes, and then the end of the
			 * input. */
			buf_consume(&f->out, f->out.len);
			if (!f->failure && !f->owner->hears_out)
				f->failure = loop_add_timer(f->loop, clock_mono_ns(),
							    on_send_failure, f, NULL);
		}
	}
	if (f->out.len == 0 && f->out.cap > KEPT_BYTES)
		buf_free(&f->out);
	if (f->out.len > limit)
		f->full = true;
	framed_watch(f);
}

static bool framed_peer_is_gone(struct framed *f)
{
	return carried_send(f, "", 0) < 0 && errno != EAGAIN && errno != EINTR;
}

static void framed_write(struct framed *f)
{
	bool was_full = f->full;

	framed_flush(f);
	if (!framed_is_open(f))
		return;
	if (f->out.len <= limit_get(LIMIT_AGENT_QUEUE_BYTES) / 2)
		f->full = false;
	framed_watch(f);
	if (f->owner->drained && (f->out.len == 0 || (was_full && !f->full)))
		f->owner->drained(f->data);
}

static void framed_read(struct framed *f)
{
	static uint8_t chunk[READ_CHUNK];
	ssize_t n = carried_receive(f, chunk, sizeof(chunk));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		framed_lose(f, strerror(errno));
		return;
	}
	f->ended = n == 0;
	/* The buffer has room for a whole message, and for the bytes after it that the same read()
	 * returns. */
	f->in.limit = FRAME_HEADER + f->most + READ_CHUNK;
	if (buf_append(&f->in, chunk, (size_t)n, NULL) < 0) {
		framed_lose(f, "out of memory");
		return;
	}
	if (f->ended)
		framed_watch(f);
	f->owner->input(f->data);
}

static void on_framed_event(struct loop *loop, int fd, uint32_t events, void *data)
{
	const uint32_t over = LOOP_ERR | LOOP_HUP;
	struct framed *f = data;

	(void)loop;
	(void)fd;
	if (!f->owner->hears_out &&
	    (events & over ||
	     ((events & LOOP_RDHUP || framed_is_paused(f)) && framed_peer_is_gone(f)))) {
		framed_lose(f, "the peer closed the connection");
		return;
	}
	if (events & LOOP_OUT && (f->out.len > 0 || f->full))
		framed_write(f);
	if (framed_is_open(f) && events & (LOOP_IN | LOOP_RDHUP | over) && !framed_is_paused(f))
		framed_read(f);
}

static void framed_begin(struct framed *f, struct loop *loop, size_t most,
			 const struct framed_owner *owner, void *data)
{
	*f = (struct framed){
		.loop = loop,
		.fd = -1,
		.reading = true,
		.events = LOOP_IN | LOOP_RDHUP,
		.most = most,
		.owner = owner,
		.data = data,
	};
}

int framed_open(struct framed *f, struct loop *loop, int fd, size_t most,
		const struct framed_owner *owner, void *data, struct error *err)
{
	framed_begin(f, loop, most, owner, data);
	if (fd_nonblock(fd, true, err) < 0)
		return -1;
	f->watch = loop_add_fd(loop, fd, LOOP_IN | LOOP_RDHUP, on_framed_event, f, err);
	if (!f->watch)
		return -1;
	f->fd = fd;
	return 0;
}

void framed_open_carried(struct framed *f, struct loop *loop, const struct framed_carrier *carrier,
			 void *stream, size_t most, const struct framed_owner *owner, void *data)
{
	framed_begin(f, loop, most, owner, data);
	f->carrier = carrier;
	f->stream = stream;
	carrier->watch(stream, f->events, on_framed_event, f);
}

void framed_close(struct framed *f)
{
	if (!framed_is_open(f))
		return;
	loop_remove(steal_ptr(&f->watch));
	loop_remove(steal_ptr(&f->failure));
	if (f->stream)
		f->carrier->close(steal_ptr(&f->stream));
	else
		close(steal_fd(&f->fd));
	buf_free(&f->in);
	buf_free(&f->out);
}

int framed_send(struct framed *f, const char *text, struct error *err)
{
	if (frame_append(&f->out, text, strlen(text), err) < 0)
		return -1;
	framed_flush(f);
	return 0;
}

int framed_send_bytes(struct framed *f, const void *data, size_t len, struct error *err)
{
	const uint8_t *bytes = data;
	ssize_t n = 1;

	while (framed_is_open(f) && f->out.len == 0 && len > 0 && n > 0) {
		n = carried_send(f, bytes, len);
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
	}
	/* A failed send is not an error here, because framed_flush() below reports it. */
	if (len == 0)
		return 0;
	if (buf_append(&f->out, bytes, len, err) < 0)
		return -1;
	framed_flush(f);
	return 0;
}

int framed_send_line(struct framed *f, const char *text, struct error *err)
{
	if (buf_append(&f->out, text, strlen(text), err) < 0 ||
	    buf_append(&f->out, "\n", 1, err) < 0)
		return -1;
	framed_flush(f);
	return 0;
}

void *framed_release(struct framed *f)
{
	void *stream = steal_ptr(&f->stream);

	loop_remove(steal_ptr(&f->failure));
	buf_free(&f->in);
	buf_free(&f->out);
	return stream;
}

void framed_drop(struct framed *f, size_t n)
{
	buf_consume(&f->in, n);
	if (f->in.len == 0 && f->in.cap > KEPT_BYTES)
		buf_free(&f->in);
}

int framed_take(struct framed *f, framed_taker *take, void *data, struct error *err)
{
	const uint8_t *payload;
	size_t len;
	int got = 1;

	while (got > 0 && framed_is_open(f)) {
		got = frame_peek(&f->in, f->most, &payload, &len, err);
		if (got > 0)
			got = take(data, payload, len, err);
		if (got > 0 && framed_is_open(f))
			framed_drop(f, FRAME_HEADER + len);
	}
	return got < 0 ? -1 : 0;
}

void framed_set_reading(struct framed *f, bool on)
{
	if (f->reading == on)
		return;
	f->reading = on;
	framed_watch(f);
}
