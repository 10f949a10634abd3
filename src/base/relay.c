/* SPDX-License-Identifier: MIT */
/*
 * A relay has two ways, one for each direction. Each way leads from a source to a target. The
 * source is read only while the way has no bytes that are still to be sent. So if the target reads
 * slowly, the way keeps one chunk, and the source must wait. A way is
 *
 *   ended   if its source sends no more, or is not read any more
 *   closed  if its target was told that the way has ended, or takes no more
 *
 * The connection is over when both ways are closed. A peer that accepts no more bytes may have sent
 * bytes before. The relay still delivers these bytes, because a server may answer and close its
 * connection before it has read everything.
 */
#include "base/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"

#define PAGE_BYTES 4096u

struct side {
	struct relay *relay;
	int fd;
	struct loop_watch *watch;
	bool hurried; /* relay_hurry() was called for this socket */
	bool gone;    /* the socket's peer has closed it, and the relay still has bytes from that
		       * peer */
};

struct way {
	uint8_t *bytes; /* the bytes that are not yet sent to the target; NULL if there are none */
	size_t start, len;
	bool ended, closed;
};

struct relay {
	struct side sides[2];
	struct way ways[2]; /* ways[i] leads from sides[i] to the other one of the two sides */
	bool broken;	    /* bytes of the connection were lost */
	struct loop *loop;
	struct loop_watch *gone_timer; /* the timer of LIMIT_RELAY_GONE_MS; set while a peer is
				        * gone */
	bool moved;		       /* bytes were delivered since gone_timer was set */
	relay_ended_fn *ended;
	void *data;
};

static void drop_bytes(struct way *way)
{
	free(way->bytes);
	way->bytes = NULL;
	way->start = way->len = 0;
}

static void relay_lose(struct relay *relay, struct way *way)
{
	if (!way->closed)
		relay->broken = true;
	drop_bytes(way);
	way->ended = way->closed = true;
}

/* Sends as send() does. A vsock socket needs one block of kernel memory for all bytes of a call. If
 * the kernel's memory is too fragmented for such a block, sends fewer bytes. */
static ssize_t relay_send(int to, const uint8_t *bytes, size_t len)
{
	ssize_t n = send(to, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

	while (n < 0 && (errno == ENOMEM || errno == ENOBUFS) && len > PAGE_BYTES) {
		len = len / 2 > PAGE_BYTES ? len / 2 : PAGE_BYTES;
		n = send(to, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	return n;
}

/* Sends as many bytes of the way as its target accepts at present. If all bytes are sent and the
 * way has ended, also shuts down the target's sending direction. */
static void relay_deliver(struct relay *relay, int from)
{
	struct way *way = &relay->ways[from];
	int to = relay->sides[!from].fd;

	while (way->len > 0) {
		ssize_t n = relay_send(to, way->bytes + way->start, way->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			relay_lose(relay, way);
			return;
		}
		relay->moved = true;
		way->start += (size_t)n;
		way->len -= (size_t)n;
	}
	drop_bytes(way);
	if (way->ended && !way->closed) {
		shutdown(to, SHUT_WR);
		way->closed = true;
	}
}

static void relay_take(struct relay *relay, int from)
{
	struct way *way = &relay->ways[from];
	size_t room = (size_t)limit_get(LIMIT_RELAY_BYTES);
	ssize_t n;

	way->bytes = malloc(room);
	n = way->bytes ? recv(relay->sides[from].fd, way->bytes, room, MSG_DONTWAIT) : -1;
	if (way->bytes && n < 0 && (errno == EAGAIN || errno == EINTR)) {
		drop_bytes(way);
		return;
	}
	if (n < 0) { /* the target was reset, so no byte can be passed on in either direction any
		      * more */
		relay_lose(relay, &relay->ways[0]);
		relay_lose(relay, &relay->ways[1]);
		return;
	}
	way->len = (size_t)n;
	way->ended = n == 0;
	relay_deliver(relay, from);
}

/* Returns true if the loop must watch a side for LOOP_HUP, the hang-up. The hang-up is watched
 * after the side has sent its last byte. For a side with relay_hurry() it is watched from the
 * beginning, but only until it was reported once: otherwise the loop would report the hang-up again
 * and again. */
static bool hears_hang_up(const struct relay *relay, int side)
{
	const struct way *from = &relay->ways[side], *to = &relay->ways[!side];

	if (relay->sides[side].hurried)
		return !relay->sides[side].gone && !(from->ended && to->closed);
	return from->ended && !to->closed;
}

static uint32_t relay_wants(const struct relay *relay, int side)
{
	const struct way *from = &relay->ways[side], *to = &relay->ways[!side];
	uint32_t events = 0;

	if (!from->ended && from->len == 0)
		events |= LOOP_IN;
	if (to->len > 0)
		events |= LOOP_OUT;
	if (!events && hears_hang_up(relay, side))
		events = LOOP_HUP;
	return events;
}

/* Watches the events that are needed at present on both sides. Returns true when the connection is
 * over. */
static bool relay_settle(struct relay *relay)
{
	struct error err;

	for (int i = 0; i < 2; i++) {
		if (loop_set_events(relay->sides[i].watch, relay_wants(relay, i), &err) < 0) {
			relay_lose(relay, &relay->ways[0]);
			relay_lose(relay, &relay->ways[1]);
		}
	}
	return relay->ways[0].closed && relay->ways[1].closed;
}

static void await_slow_reader(struct relay *relay);

static void on_gone_timer(struct loop *loop, void *data)
{
	struct relay *relay = data;

	(void)loop;
	relay->gone_timer = NULL;
	if (relay->moved)
		await_slow_reader(relay);
	for (int i = 0; i < 2 && !relay->gone_timer; i++)
		if (relay->sides[i].gone)
			relay_lose(relay, &relay->ways[i]);
	if (relay_settle(relay))
		relay->ended(relay->data);
}

static void await_slow_reader(struct relay *relay)
{
	struct error ignored;

	loop_remove(relay->gone_timer);
	relay->moved = false;
	relay->gone_timer = loop_add_timer(relay->loop, limit_deadline(LIMIT_RELAY_GONE_MS),
					   on_gone_timer, relay, &ignored);
}

static void on_side(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct side *side = data;
	struct relay *relay = side->relay;
	int i = side == &relay->sides[1];

	(void)loop;
	(void)fd;
	if (events & LOOP_OUT)
		relay_deliver(relay, !i);
	if ((events & (LOOP_IN | LOOP_HUP | LOOP_ERR)) && !relay->ways[i].ended &&
	    relay->ways[i].len == 0)
		relay_take(relay, i);
	/* The peer of this side has closed the connection, while the relay still has bytes of that
	 * peer. The other side may still accept these bytes. If the other side does not accept
	 * them, the timer ends the connection. */
	if ((events & (LOOP_HUP | LOOP_ERR)) && relay->ways[i].len > 0 && side->hurried &&
	    !side->gone) {
		relay_lose(relay, &relay->ways[!i]);
		side->gone = true;
		await_slow_reader(relay);
	}
	/* The peer of this side has sent its last byte before, and now accepts no more bytes
	 * either. So the way to this side is closed, and the bytes of that way are lost. */
	if ((events & (LOOP_HUP | LOOP_ERR)) && relay->ways[i].ended)
		relay_lose(relay, &relay->ways[!i]);
	if (relay_settle(relay))
		relay->ended(relay->data);
}

struct relay *relay_new(struct loop *loop, int a, int b, relay_ended_fn *ended, void *data,
			struct error *err)
{
	struct relay *relay = calloc(1, sizeof(*relay));
	const int fds[] = {a, b}, on = 1;

	if (!relay) {
		close(a);
		close(b);
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	relay->ended = ended;
	relay->data = data;
	relay->loop = loop;
	for (int i = 0; i < 2; i++) {
		relay->sides[i] = (struct side){.relay = relay, .fd = fds[i]};
		/* TCP_NODELAY makes the kernel send small messages at once. SO_KEEPALIVE makes it
		 * notice a peer whose host has disappeared. Sockets other than TCP refuse both
		 * options, which does no harm. */
		setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(fds[i], SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	}
	for (int i = 0; i < 2; i++) {
		relay->sides[i].watch =
			loop_add_fd(loop, fds[i], LOOP_IN, on_side, &relay->sides[i], err);
		if (!relay->sides[i].watch) {
			relay_free(relay);
			return NULL;
		}
	}
	return relay;
}

void relay_hurry(struct relay *relay, int side)
{
	relay->sides[side].hurried = true;
}

/* Returns true if `fd` is a TCP socket. Finds this out by an option that only TCP sockets have.
 * getsockname() is not used, since the system call filter of a confined process may allow only
 * getsockopt(). */
static bool is_tcp(int fd)
{
	int no_delay;
	socklen_t len = sizeof(no_delay);

	return getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &len) == 0;
}

void relay_free(struct relay *relay)
{
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};

	if (!relay)
		return;
	loop_remove(relay->gone_timer);
	bool whole = !relay->broken && relay->ways[0].closed && relay->ways[1].closed;

	for (int i = 0; i < 2; i++) {
		loop_remove(relay->sides[i].watch);
		if (!whole && is_tcp(relay->sides[i].fd))
			setsockopt(relay->sides[i].fd, SOL_SOCKET, SO_LINGER, &reset,
				   sizeof(reset));
		close(relay->sides[i].fd);
		free(relay->ways[i].bytes);
	}
	free(relay);
}
