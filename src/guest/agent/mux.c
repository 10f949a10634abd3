/* SPDX-License-Identifier: MIT */
#include "guest/agent/mux.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/agent/mux_parts.h"

/* The lowest port of the guest from which the mux dials the host. Lower ports are for listeners, as
 * in the kernel's vsock. */
#define FIRST_PORT 1024
/* The size in bytes of one page of the virtio-serial port's buffer. One read returns at most one
 * page. If a read returns less, the port is empty, or an event will report further bytes. */
#define PORT_PAGE 4096
#define READS_PER_EVENT 64
#define HOST_AWAY_NS (100 * NS_PER_MS)

/* --- packets of the host --------------------------------------------------------------------- */

static void take_payload(struct mux_stream *s, const uint8_t *payload, size_t len)
{
	struct mux *mux = s->mux;
	uint32_t host_port = s->host_port, guest_port = s->guest_port;

	if (len > MUX_CREDIT - (s->rx_cnt - s->fwd_cnt) || s->over)
		return;
	s->rx_cnt += (uint32_t)len;
	s->front = payload;
	s->front_len = len;
	if (s->events & LOOP_IN)
		mux_tell(s);
	/* mux_tell() has called the holder of the stream, which may have closed the stream. */
	s = mux_find(mux, host_port, guest_port);
	if (!s)
		return;
	if (s->front_len && buf_append(&s->in, s->front, s->front_len, NULL) < 0) {
		s->over = true;
		mux_say(s, SAY_RST);
	}
	s->front_len = 0;
}

static void note_credit(struct mux_stream *s, const struct packet *p)
{
	s->peer_fwd = p->fwd_cnt;
	s->peer_alloc = p->buf_alloc;
	if (s->full && mux_takes_bytes(s)) {
		s->full = false;
		list_remove(&s->wanting);
		mux_tell_later(s);
	}
}

static void take_known(struct mux_stream *s, const struct packet *p, const uint8_t *payload)
{
	if (s->orphaned) {
		if (p->op == PACKET_RST)
			mux_stream_free(s);
		return;
	}
	note_credit(s, p);
	switch (p->op) {
	case PACKET_RESPONSE:
		s->open = true;
		mux_tell(s);
		break;
	case PACKET_RST:
		s->over = true;
		s->say = 0;
		mux_tell(s);
		break;
	case PACKET_SHUTDOWN:
		s->peer_shut |= p->flags & SHUT_BOTH;
		if (s->peer_shut == SHUT_BOTH) {
			s->over = true;
			mux_say(s, SAY_RST);
		}
		mux_tell(s);
		break;
	case PACKET_RW:
		take_payload(s, payload, p->len);
		break;
	case PACKET_CREDIT_REQUEST:
		mux_say(s, SAY_CREDIT);
		break;
	default:
		break;
	}
}

/* Answers a packet of an unknown stream with an RST. If there is no room for the RST now, it is
 * never sent, which does no harm, since the host or its client tries again. */
static void refuse_stranger(struct mux *mux, const struct packet *p)
{
	const struct packet rst = {.src_cid = mux->cid,
				   .dst_cid = PACKET_HOST_CID,
				   .src_port = p->dst_port,
				   .dst_port = p->src_port,
				   .type = PACKET_STREAM,
				   .op = PACKET_RST};

	if (p->op != PACKET_RST && mux_say_packet(mux, &rst))
		mux_write(mux);
}

static struct mux_listener *find_listener(const struct mux *mux, uint32_t port)
{
	struct mux_listener *l;

	list_each (l, &mux->listeners, link)
		if (l->port == port)
			return l;
	return NULL;
}

static void admit_dial(struct mux *mux, const struct packet *p)
{
	struct mux_listener *l = find_listener(mux, p->dst_port);
	struct mux_stream *s = l ? mux_stream_new(mux, p->src_port, p->dst_port) : NULL;

	if (!s) {
		refuse_stranger(mux, p);
		return;
	}
	s->open = true;
	note_credit(s, p);
	mux_say(s, SAY_RESPONSE);
	l->accept(l->data, s);
}

static void take_asked(struct mux *mux)
{
	struct mux_stream *s;

	/* The earlier process at the host's end is gone, so all streams with that process have
	 * ended. */
	for (unsigned i = 0; i < MUX_BUCKETS; i++)
		list_each (s, &mux->buckets[i], link)
			if (s->orphaned) {
				mux_stream_free(s);
			} else {
				s->over = true;
				s->say = 0;
				mux_tell_later(s);
			}
	mux_hello(mux);
}

static void take_welcome(struct mux *mux, const struct packet *p)
{
	bool again = mux->met;
	struct mux_stream *s;

	mux->linked = mux->met = true;
	mux->cid = p->dst_cid;
	for (unsigned i = 0; i < MUX_BUCKETS; i++)
		list_each (s, &mux->buckets[i], link)
			mux_say_wanted(s);
	mux_write(mux);
	if (again && mux->anew)
		mux->anew(mux->anew_data);
}

/* Handles the next packet, or skips a byte that does not begin a packet. Returns false if the
 * packet is not complete yet. */
static bool take_host_packet(struct mux *mux)
{
	const uint8_t *raw = mux->in + mux->in_at;
	struct mux_stream *s;
	struct packet p;

	if (mux->in_end - mux->in_at < PACKET_HEADER)
		return false;
	packet_decode(raw, &p);
	if (!mux->linked) {
		bool welcome =
			packet_is_link(&p, LINK_WELCOME) && packet_link_number(&p) == mux->number;

		mux->in_at += welcome ? PACKET_HEADER : 1;
		if (welcome)
			take_welcome(mux, &p);
		return true;
	}
	if (p.len > PACKET_PAYLOAD) {
		/* No packet may be that long, so the guest and the host disagree about where
		 * packets begin. The guest begins the protocol anew with a HELLO. */
		take_asked(mux);
		return true;
	}
	if (mux->in_end - mux->in_at < PACKET_HEADER + p.len)
		return false;
	mux->in_at += PACKET_HEADER + p.len;
	s = mux_find(mux, p.src_port, p.dst_port);
	if (packet_is_link(&p, LINK_ASK))
		take_asked(mux);
	else if (s)
		take_known(s, &p, raw + PACKET_HEADER);
	else if (p.op == PACKET_REQUEST)
		admit_dial(mux, &p);
	else
		refuse_stranger(mux, &p);
	return true;
}

/* --- the port -------------------------------------------------------------------------------- */

static void on_port_event(struct loop *loop, int fd, uint32_t events, void *data);

static int watch_mux(struct mux *mux, struct error *err)
{
	mux->wants_room = mux->chunks > 0;
	mux->watch = loop_add_fd(mux->loop, mux->fd, LOOP_IN | (mux->wants_room ? LOOP_OUT : 0),
				 on_port_event, mux, err);
	return mux->watch ? 0 : -1;
}

static void on_host_back(struct loop *loop, void *data)
{
	struct mux *mux = data;

	(void)loop;
	mux->back = NULL;
	watch_mux(mux, NULL);
}

/* Reads from the port, and returns the number of bytes. One read returns at most one page. */
static size_t read_port(struct mux *mux)
{
	size_t at;
	ssize_t n;
	struct packet p;

	if (mux->in_at > 0) {
		memmove(mux->in, mux->in + mux->in_at, mux->in_end - mux->in_at);
		mux->in_end -= mux->in_at;
		mux->in_at = 0;
	}
	at = mux->in_end;
	n = read(mux->fd, mux->in + at, sizeof(mux->in) - at);
	/* A socket at which the host has ended the connection is not watched any more, since no
	 * further bytes can come: the machine is ending, or is in quarantine. */
	if (mux->splits && (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)))
		loop_remove(steal_ptr(&mux->watch));
	if (n <= 0)
		return 0;
	mux->in_end += (size_t)n;
	/* ASK is the first message of a new host, and is at the beginning of the bytes of one read.
	 * A restored machine may have read only the first bytes of a packet of the earlier host.
	 * These bytes are skipped. Otherwise ASK would be taken for the payload of that packet. */
	if (mux->linked && n >= PACKET_HEADER && packet_may_be_link(mux->in + at)) {
		packet_decode(mux->in + at, &p);
		if (packet_is_link(&p, LINK_ASK))
			mux->in_at = at;
	}
	return (size_t)n;
}

static void on_port_event(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct mux *mux = data;
	size_t got = PORT_PAGE;

	(void)loop;
	(void)fd;
	if (events & LOOP_HUP && !(events & LOOP_IN)) {
		/* While there is no host, the event loop would report LOOP_HUP again and again. So
		 * the port is not watched for HOST_AWAY_NS nanoseconds. */
		loop_remove(steal_ptr(&mux->watch));
		mux->back = loop_add_timer(mux->loop, clock_mono_ns() + HOST_AWAY_NS, on_host_back,
					   mux, NULL);
		return;
	}
	if (events & LOOP_OUT) {
		mux_write(mux);
		mux_tell_room(mux);
		mux_write(mux);
	}
	if (!(events & LOOP_IN))
		return;
	for (unsigned i = 0; i < READS_PER_EVENT && got; i++) {
		got = read_port(mux);
		while (take_host_packet(mux))
			;
		/* All bytes of the last read were handled, and the read did not fill a page. So the
		 * port is empty, or a new event will report further bytes. */
		if (got < PORT_PAGE && mux->in_at == mux->in_end)
			break;
	}
}

/* --- all of it ------------------------------------------------------------------------------- */

struct mux *mux_open(struct loop *loop, int fd, bool splits, struct error *err)
{
	struct mux *mux = calloc(1, sizeof(*mux));

	if (!mux) {
		error_errno(err, ENOMEM, "the port to the host");
		return NULL;
	}
	mux->loop = loop;
	mux->fd = fd;
	mux->splits = splits;
	mux->next_port = FIRST_PORT;
	for (unsigned i = 0; i < MUX_BUCKETS; i++)
		list_init(&mux->buckets[i]);
	list_init(&mux->listeners);
	list_init(&mux->due);
	list_init(&mux->wanting);
	if (watch_mux(mux, err) < 0) {
		free(mux);
		return NULL;
	}
	mux_hello(mux);
	return mux;
}

void mux_free(struct mux *mux)
{
	struct mux_listener *l;
	struct mux_stream *s;

	if (!mux)
		return;
	list_each (l, &mux->listeners, link) {
		list_remove(&l->link);
		if (l->gone)
			l->gone(l->data);
	}
	for (unsigned i = 0; i < MUX_BUCKETS; i++)
		while ((s = list_first(&mux->buckets[i], struct mux_stream, link)))
			mux_stream_free(s);
	loop_remove(mux->watch);
	loop_remove(mux->again);
	loop_remove(mux->back);
	close(mux->fd);
	free(mux);
}

void mux_watch_host(struct mux *mux, void (*anew)(void *data), void *data)
{
	mux->anew = anew;
	mux->anew_data = data;
}

void mux_listen(struct mux *mux, struct mux_listener *listener)
{
	list_add(&mux->listeners, &listener->link);
}

bool mux_listens(const struct mux *mux, uint32_t port)
{
	return find_listener(mux, port);
}

struct mux_stream *mux_dial(struct mux *mux, uint32_t port, loop_fd_fn *fn, void *data)
{
	struct mux_stream *s = mux_stream_new(mux, port, mux->next_port++);

	if (!s)
		return NULL;
	s->events = LOOP_OUT;
	s->fn = fn;
	s->data = data;
	mux_say(s, SAY_REQUEST);
	return s;
}
