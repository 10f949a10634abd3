/* SPDX-License-Identifier: MIT */
/* Collects packets for the host in chunks, and writes the chunks. */
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "guest/agent/mux_parts.h"

/* Writes as many chunks to the host as it has room for. A full virtio-serial port takes nothing of
 * a chunk. A socket may take a part of a chunk. */
void mux_write(struct mux *mux)
{
	bool wants;

	while (mux->chunks > 0) {
		struct mux_chunk *c = &mux->chunk[mux->first_chunk];
		ssize_t n = write(mux->fd, c->bytes, c->len);

		if (n <= 0)
			break;
		c->len -= (size_t)n;
		memmove(c->bytes, c->bytes + n, c->len);
		if (c->len > 0)
			continue;
		mux->first_chunk = (mux->first_chunk + 1) % MUX_CHUNKS;
		mux->chunks--;
	}
	wants = mux->chunks > 0;
	if (mux->watch && wants != mux->wants_room &&
	    loop_set_events(mux->watch, LOOP_IN | (wants ? LOOP_OUT : 0), NULL) == 0)
		mux->wants_room = wants;
}

/* Returns memory for one packet of len bytes, in the last chunk or in a new chunk. Returns NULL if
 * there is no room at present. */
uint8_t *mux_reserve(struct mux *mux, size_t len)
{
	struct mux_chunk *c =
		&mux->chunk[(mux->first_chunk + mux->chunks + MUX_CHUNKS - 1) % MUX_CHUNKS];

	if (mux->chunks == 0 || c->len + len > sizeof(c->bytes)) {
		if (mux->chunks == MUX_CHUNKS)
			return NULL;
		c = &mux->chunk[(mux->first_chunk + mux->chunks++) % MUX_CHUNKS];
		c->len = 0;
	}
	c->len += len;
	return c->bytes + c->len - len;
}

bool mux_say_packet(struct mux *mux, const struct packet *p)
{
	uint8_t *raw = mux_reserve(mux, PACKET_HEADER);

	if (raw)
		packet_encode(p, raw);
	return raw;
}

struct packet mux_packet_of(struct mux_stream *s, enum packet_op op, uint32_t flags, size_t len)
{
	s->told = s->fwd_cnt;
	return (struct packet){.src_cid = s->mux->cid,
			       .dst_cid = PACKET_HOST_CID,
			       .src_port = s->guest_port,
			       .dst_port = s->host_port,
			       .len = (uint32_t)len,
			       .type = PACKET_STREAM,
			       .op = (uint16_t)op,
			       .flags = flags,
			       .buf_alloc = MUX_CREDIT,
			       .fwd_cnt = s->fwd_cnt};
}

/* Writes one packet of a kind that s->say has. Returns false if there is no room. */
static bool say_one(struct mux_stream *s)
{
	static const struct {
		enum mux_want want;
		enum packet_op op;
	} words[] = {
		{SAY_REQUEST, PACKET_REQUEST},	    {SAY_RESPONSE, PACKET_RESPONSE},
		{SAY_SHUTDOWN, PACKET_SHUTDOWN},    {SAY_RST, PACKET_RST},
		{SAY_CREDIT, PACKET_CREDIT_UPDATE},
	};
	size_t i = 0;
	struct packet p;

	while (!(s->say & words[i].want))
		i++;
	p = mux_packet_of(s, words[i].op, words[i].op == PACKET_SHUTDOWN ? s->shut : 0, 0);
	if (!mux_say_packet(s->mux, &p))
		return false;
	s->say &= (uint8_t)~words[i].want;
	return true;
}

/* Writes the packets of the kinds in s->say. Packets that have no room now are written later. */
void mux_say_wanted(struct mux_stream *s)
{
	if (!s->mux->linked)
		return;
	while (s->say && say_one(s))
		;
	if (s->say && !list_has(&s->wanting))
		list_add(&s->mux->wanting, &s->wanting);
	if (!s->say && s->orphaned)
		mux_stream_free(s);
}

void mux_say(struct mux_stream *s, enum mux_want want)
{
	struct mux *mux = s->mux;

	s->say |= (uint8_t)want;
	mux_say_wanted(s);
	mux_write(mux);
}

void mux_hello(struct mux *mux)
{
	struct packet p;

	mux->linked = false;
	/* All earlier streams have ended, so their packets are dropped, which also makes room for
	 * the HELLO. */
	mux->chunks = 0;
	/* The host may have got only the first bytes of a packet. The bytes 0xff then complete that
	 * packet. If the host has no incomplete packet, the bytes 0xff are no valid packet, because
	 * the length in them is larger than any packet may have. In both cases the host then finds
	 * the HELLO. */
	if (mux->splits)
		memset(mux_reserve(mux, PACKET_WHOLE), 0xff, PACKET_WHOLE);
	if (getrandom(&mux->number, sizeof(mux->number), GRND_NONBLOCK) < 0)
		mux->number = clock_mono_ns();
	p = packet_link(LINK_HELLO, 0, mux->number);
	mux_say_packet(mux, &p);
	mux_write(mux);
}
