/* SPDX-License-Identifier: MIT */
#include "guest/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/limits.h"

#define READ_CHUNK 65536

static bool is_paused(const struct wire *wire)
{
	return !wire->reading || wire->ended;
}

/*
 * While input is wanted, events are level-triggered. Otherwise they are edge-triggered, or an end
 * of the peer's sending would be reported for ever; the edge still comes when it goes away
 * altogether. On vsock it may be no edge of EPOLLRDHUP: while bytes of the peer's wait to be read
 * the host cannot say that these were all, but it says at once that it takes no more of ours. No
 * event is there for that. But the socket wakes its waiters, and those for room, which there is,
 * are told.
 */
static void update_events(struct wire *wire)
{
	uint32_t events = EPOLLRDHUP;

	if (wire->fd < 0)
		return;
	events |= is_paused(wire) ? EPOLLET | EPOLLOUT : EPOLLIN;
	/* Also once a send of the owner's own has emptied a full queue: it is the loop that tells.
	 */
	if (wire->out.len > 0 || wire->full)
		events |= EPOLLOUT;
	if (events != wire->events && loop_set_events(wire->watch, events, NULL) == 0)
		wire->events = events;
}

static void lose(struct wire *wire, const char *why)
{
	if (wire->fd < 0)
		return;
	wire_close(wire);
	wire->owner->lost(wire->data, why);
}

static void on_failure(struct loop *loop, void *data)
{
	struct wire *wire = data;

	(void)loop;
	wire->failure = NULL;
	lose(wire, "sending failed");
}

/* Owners are called from the loop alone, so a failed send is told in the next round. */
static void fail_later(struct wire *wire)
{
	buf_consume(&wire->out, wire->out.len);
	if (!wire->failure)
		wire->failure = loop_add_timer(wire->loop, clock_mono_ns(), on_failure, wire, NULL);
}

static bool send_some(struct wire *wire)
{
	ssize_t n =
		send(wire->fd, buf_bytes(&wire->out), wire->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n >= 0)
		buf_consume(&wire->out, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR)
		fail_later(wire);
	return n >= 0 || errno == EINTR;
}

void wire_flush(struct wire *wire)
{
	size_t limit = (size_t)limit_get(LIMIT_AGENT_QUEUE_BYTES);

	if (wire->fd < 0 || wire->out.len == 0)
		return;
	while (wire->out.len > 0 && send_some(wire))
		;
	if (wire->out.len > limit)
		wire->full = true;
	update_events(wire);
}

static bool peer_is_gone(struct wire *wire)
{
	return send(wire->fd, "", 0, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN &&
	       errno != EINTR;
}

static void on_writable(struct wire *wire)
{
	bool was_full = wire->full;

	wire_flush(wire);
	if (wire->fd < 0)
		return;
	if (wire->out.len <= limit_get(LIMIT_AGENT_QUEUE_BYTES) / 2)
		wire->full = false;
	update_events(wire);
	if (wire->out.len == 0 || (was_full && !wire->full))
		wire->owner->drained(wire->data);
}

static void on_readable(struct wire *wire)
{
	static uint8_t chunk[READ_CHUNK];
	ssize_t n = recv(wire->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		lose(wire, strerror(errno));
		return;
	}
	if (n == 0)
		wire->ended = true;
	else if (buf_append(&wire->in, chunk, (size_t)n, NULL) < 0) {
		lose(wire, "out of memory");
		return;
	}
	if (wire->ended)
		update_events(wire);
	wire->owner->input(wire->data);
}

static void on_event(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct wire *wire = data;

	(void)loop;
	(void)fd;
	if (events & (EPOLLERR | EPOLLHUP) ||
	    ((events & EPOLLRDHUP || is_paused(wire)) && peer_is_gone(wire))) {
		lose(wire, "the peer closed the connection");
		return;
	}
	if (events & EPOLLOUT && (wire->out.len > 0 || wire->full))
		on_writable(wire);
	if (wire->fd >= 0 && events & (EPOLLIN | EPOLLRDHUP) && wire->reading && !wire->ended)
		on_readable(wire);
}

int wire_open(struct wire *wire, struct loop *loop, int fd, const struct wire_owner *owner,
	      void *data, struct error *err)
{
	*wire = (struct wire){
		.loop = loop,
		.fd = -1,
		.reading = true,
		.events = EPOLLIN | EPOLLRDHUP,
		/* a whole frame or envelope and what was read together with its end */
		.in = BUF_INIT(FRAME_HEADER + (size_t)limit_get(LIMIT_ENVELOPE_BYTES) + READ_CHUNK),
		.owner = owner,
		.data = data,
	};
	if (fd_nonblock(fd, true, err) < 0)
		return -1;
	wire->watch = loop_add_fd(loop, fd, EPOLLIN | EPOLLRDHUP, on_event, wire, err);
	if (!wire->watch)
		return -1;
	wire->fd = fd;
	return 0;
}

void wire_close(struct wire *wire)
{
	if (wire->fd < 0)
		return;
	loop_remove(steal_ptr(&wire->watch));
	loop_remove(steal_ptr(&wire->failure));
	close(steal_fd(&wire->fd));
	buf_free(&wire->in);
	buf_free(&wire->out);
}

int wire_send_frame(struct wire *wire, const char *text, struct error *err)
{
	if (frame_append(&wire->out, text, strlen(text), err) < 0)
		return -1;
	wire_flush(wire);
	return 0;
}

int wire_send_line(struct wire *wire, const char *text, struct error *err)
{
	if (buf_append(&wire->out, text, strlen(text), err) < 0 ||
	    buf_append(&wire->out, "\n", 1, err) < 0)
		return -1;
	wire_flush(wire);
	return 0;
}

void wire_set_reading(struct wire *wire, bool on)
{
	if (wire->reading == on)
		return;
	wire->reading = on;
	update_events(wire);
}
