/* SPDX-License-Identifier: MIT */
/* The streams of the mux, and the events that the holders of streams get. The holder of a stream is
 * the code that reads from the stream and writes to it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "guest/agent/mux_parts.h"

static struct list *bucket_of(struct mux *mux, uint32_t host_port, uint32_t guest_port)
{
	return &mux->buckets[(host_port ^ guest_port) % MUX_BUCKETS];
}

struct mux_stream *mux_find(struct mux *mux, uint32_t host_port, uint32_t guest_port)
{
	struct mux_stream *s;

	list_each (s, bucket_of(mux, host_port, guest_port), link)
		if (s->host_port == host_port && s->guest_port == guest_port)
			return s;
	return NULL;
}

struct mux_stream *mux_stream_new(struct mux *mux, uint32_t host_port, uint32_t guest_port)
{
	struct mux_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->mux = mux;
	s->host_port = host_port;
	s->guest_port = guest_port;
	list_add(bucket_of(mux, host_port, guest_port), &s->link);
	return s;
}

void mux_stream_free(struct mux_stream *s)
{
	if (s->mux->telling == s)
		s->mux->telling = NULL;
	list_remove(&s->link);
	list_remove(&s->due);
	list_remove(&s->wanting);
	buf_free(&s->in);
	free(s);
}

/* --- what is told to whoever holds a stream -------------------------------------------------- */

uint32_t mux_credit(const struct mux_stream *s)
{
	uint32_t flying = s->tx_cnt - s->peer_fwd;

	return s->peer_alloc > flying ? s->peer_alloc - flying : 0;
}

bool mux_takes_bytes(const struct mux_stream *s)
{
	return s->open && s->mux->chunks < MUX_CHUNKS && mux_credit(s) > 0;
}

static uint32_t wanted_events(const struct mux_stream *s)
{
	bool ended = s->over || s->peer_shut & SHUT_SEND;
	uint32_t ready = (s->in.len || s->front_len || ended ? LOOP_IN : 0) |
			 (ended ? LOOP_RDHUP : 0) | (s->over ? LOOP_HUP | LOOP_OUT : 0) |
			 (mux_takes_bytes(s) ? LOOP_OUT : 0);

	return s->events ? ready & (s->events | LOOP_HUP) : 0;
}

/* Calls the holders of the streams in mux->due. A stream that is added to the list during these
 * calls is handled in the next round of the event loop. */
static void on_mux_again(struct loop *loop, void *data)
{
	struct mux *mux = data;
	struct list now;
	struct mux_stream *s;

	(void)loop;
	mux->again = NULL;
	list_init(&now);
	while ((s = list_first(&mux->due, struct mux_stream, due))) {
		list_remove(&s->due);
		list_add(&now, &s->due);
	}
	while ((s = list_first(&now, struct mux_stream, due))) {
		list_remove(&s->due);
		mux_tell(s);
	}
	mux_write(mux);
}

void mux_tell_later(struct mux_stream *s)
{
	struct mux *mux = s->mux;

	if (!list_has(&s->due))
		list_add(&mux->due, &s->due);
	if (!mux->again)
		mux->again = loop_add_timer(mux->loop, clock_mono_ns(), on_mux_again, mux, NULL);
}

/* Calls the holder of the stream once. If the stream's state has not changed after that, calls the
 * holder again in the next round of the event loop. */
void mux_tell(struct mux_stream *s)
{
	struct mux *mux = s->mux;
	uint32_t events = wanted_events(s);

	if (!events)
		return;
	mux->telling = s;
	s->fn(mux->loop, -1, events, s->data);
	if (mux->telling && !(s->events & LOOP_EDGE) && wanted_events(s))
		mux_tell_later(s);
	mux->telling = NULL;
}

/* Called when the port has room again. Writes the packets that had no room, and tells the holders
 * of streams that they may send. */
void mux_tell_room(struct mux *mux)
{
	struct mux_stream *s;

	while (mux->chunks < MUX_CHUNKS &&
	       (s = list_first(&mux->wanting, struct mux_stream, wanting))) {
		list_remove(&s->wanting);
		if (s->say) {
			mux_say_wanted(s);
		} else if (s->full) {
			s->full = false;
			mux_tell(s);
		}
	}
}

/* --- streams, as a framed has them ----------------------------------------------------------- */

static ssize_t send_packets(struct mux_stream *s, const uint8_t *data, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t part = len - done;
		uint8_t *raw;
		struct packet p;

		if (part > PACKET_PAYLOAD)
			part = PACKET_PAYLOAD;
		if (part > mux_credit(s))
			part = mux_credit(s);
		raw = part ? mux_reserve(s->mux, PACKET_HEADER + part) : NULL;
		if (!raw)
			break;
		p = mux_packet_of(s, PACKET_RW, 0, part);
		packet_encode(&p, raw);
		memcpy(raw + PACKET_HEADER, data + done, part);
		s->tx_cnt += (uint32_t)part;
		done += part;
		mux_write(s->mux);
	}
	return (ssize_t)done;
}

static ssize_t stream_send(void *stream, const void *data, size_t len)
{
	struct mux_stream *s = stream;
	ssize_t done;

	if (s->over || s->peer_shut & SHUT_RECEIVE || s->shut & SHUT_SEND) {
		errno = EPIPE;
		return -1;
	}
	if (len == 0)
		return 0;
	done = s->open && s->mux->linked ? send_packets(s, data, len) : 0;
	if (done > 0)
		return done;
	s->full = true;
	if (mux_credit(s) && !list_has(&s->wanting))
		list_add(&s->mux->wanting, &s->wanting);
	errno = EAGAIN;
	return -1;
}

static ssize_t stream_receive(void *stream, void *data, size_t len)
{
	struct mux_stream *s = stream;
	size_t n = s->in.len < len ? s->in.len : len;
	size_t m = s->front_len < len - n ? s->front_len : len - n;

	if (n + m == 0 && !s->over && !(s->peer_shut & SHUT_SEND)) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(data, buf_bytes(&s->in), n);
	buf_consume(&s->in, n);
	if (m)
		memcpy((uint8_t *)data + n, s->front, m);
	s->front += m;
	s->front_len -= m;
	s->fwd_cnt += (uint32_t)(n + m);
	if (s->fwd_cnt - s->told >= MUX_CREDIT / 4 && !s->over)
		mux_say(s, SAY_CREDIT);
	return (ssize_t)(n + m);
}

static void stream_watch(void *stream, uint32_t events, loop_fd_fn *fn, void *data)
{
	struct mux_stream *s = stream;
	uint32_t news;

	s->events = events;
	s->fn = fn;
	s->data = data;
	news = wanted_events(s);
	if (events & LOOP_EDGE)
		news &= LOOP_RDHUP | LOOP_HUP;
	if (news && (s->mux->telling != s || events & LOOP_EDGE))
		mux_tell_later(s);
}

static void stream_end_sending(void *stream)
{
	struct mux_stream *s = stream;

	if (s->over || s->shut & SHUT_SEND)
		return;
	s->shut |= SHUT_SEND;
	mux_say(s, SAY_SHUTDOWN);
}

static void stream_close(void *stream)
{
	struct mux_stream *s = stream;

	s->events = 0;
	s->orphaned = true;
	s->front_len = 0;
	if (s->mux->telling == s)
		s->mux->telling = NULL;
	/* Sends no packet for a stream that the host has ended, or whose REQUEST was not sent to
	 * the host yet. */
	if ((s->over && !s->say) || s->say & SAY_REQUEST) {
		mux_stream_free(s);
		return;
	}
	s->shut = SHUT_BOTH;
	mux_say(s, s->open ? SAY_SHUTDOWN : SAY_RST);
}

const struct framed_carrier mux_carrier = {
	.send = stream_send,
	.receive = stream_receive,
	.watch = stream_watch,
	.end_sending = stream_end_sending,
	.close = stream_close,
};
