/* SPDX-License-Identifier: MIT */
/* Makes packets for the guest. Refusals come first, then each stream has its turn. */
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

#include "vsockd/core.h"
#include "vsockd/core_parts.h"

uint32_t output_credit(const struct stream *s)
{
	uint32_t flying = s->tx_cnt - s->peer_fwd;

	/* The guest may make its buffer smaller than the number of bytes that are on their way to
	 * it. There is then no credit for further bytes. */
	return s->peer_alloc > flying ? s->peer_alloc - flying : 0;
}

/* Returns true if the host's socket may have bytes and the guest still takes bytes of the
 * stream. */
static bool has_data(const struct stream *s)
{
	return s->state == STREAM_OPEN && s->readable && !s->host_eof &&
	       !(s->guest_shut & SHUT_RECEIVE);
}

/* Returns the SHUT_ flags of all directions that have ended, if the guest does not know them all.
 * Returns 0 if the guest knows them all. */
static unsigned shut_due(const struct stream *s)
{
	unsigned over = (s->host_eof ? SHUT_SEND : 0) | (s->host_gone ? SHUT_RECEIVE : 0);

	if (s->state == STREAM_CLOSING)
		over = SHUT_BOTH;
	else if (s->state != STREAM_OPEN)
		return 0;
	return over & ~s->told_shut ? over | s->told_shut : 0;
}

bool output_due(const struct stream *s)
{
	return s->want || shut_due(s) || (has_data(s) && (output_credit(s) || !s->asked));
}

/* Writes the header of a packet into the slot. The payload of the packet is already in the slot. */
static void put_header(const struct core *core, struct stream *s, struct span *slot,
		       enum packet_op op, unsigned flags, uint32_t len)
{
	const struct packet p = {.src_cid = PACKET_HOST_CID,
				 .dst_cid = core->config.guest_cid,
				 .src_port = s->host_port,
				 .dst_port = s->guest_port,
				 .len = len,
				 .type = PACKET_STREAM,
				 .op = (uint16_t)op,
				 .flags = flags,
				 .buf_alloc = core->table.buffer_bytes,
				 .fwd_cnt = s->fwd_cnt};
	uint8_t raw[PACKET_HEADER];

	packet_encode(&p, raw);
	span_write(slot, raw, sizeof(raw));
	s->told = s->fwd_cnt;
	s->want &= (uint8_t)~WANT_CREDIT;
	s->known = true;
}

static unsigned put_control(const struct core *core, struct stream *s, struct span *slot,
			    uint32_t *length, enum packet_op op, unsigned flags)
{
	put_header(core, s, slot, op, flags, 0);
	*length = PACKET_HEADER;
	return 1;
}

/* Reads from the host's socket into the slots, behind the room for the headers. Returns the result
 * of recvmsg(). */
static ssize_t read_host(struct core *core, struct stream *s, const struct span *slots, unsigned n,
			 size_t *room)
{
	struct msghdr m = {.msg_iov = core->iov};
	uint32_t credit = output_credit(s);
	unsigned niov = 0;
	ssize_t got;

	*room = 0;
	for (unsigned i = 0; i < n && *room < credit; i++)
		*room += span_pieces(&slots[i], PACKET_HEADER, credit - *room, core->iov, CORE_IOV,
				     &niov);
	m.msg_iovlen = niov;
	got = recvmsg(s->fd, &m, MSG_DONTWAIT);
	/* If the read returns fewer bytes than it had room for, the socket is empty, and an event
	 * will announce more bytes. There are two exceptions. After hung_up no further event comes.
	 * And a read ends early if the client has passed descriptors (the kernel closes them, since
	 * the daemon does not receive them). */
	if (got < 0 || ((size_t)got < *room && !s->hung_up && !(m.msg_flags & MSG_CTRUNC)))
		s->readable = false;
	return got;
}

static void host_ended(struct stream *s, bool gone)
{
	s->readable = false;
	s->host_eof = true;
	if (gone)
		s->host_gone = true;
}

static unsigned put_data(struct core *core, struct stream *s, struct span *slots, unsigned n,
			 uint32_t *lengths)
{
	size_t room;
	ssize_t got = read_host(core, s, slots, n, &room);
	size_t left = got > 0 ? (size_t)got : 0;
	unsigned i;

	if (got < 0 && errno != EAGAIN)
		host_ended(s, true);
	if (got == 0)
		host_ended(s, false);
	s->bulk = left == room;
	for (i = 0; left; i++) {
		size_t behind = slots[i].bytes - PACKET_HEADER;
		uint32_t part = (uint32_t)(left < behind ? left : behind);

		put_header(core, s, &slots[i], PACKET_RW, 0, part);
		lengths[i] = PACKET_HEADER + part;
		s->tx_cnt += part;
		left -= part;
	}
	return i;
}

/* Gives a stream one turn. A turn sends only the first thing of this list that the stream has: the
 * packet that opens the stream, the stream's bytes, a SHUTDOWN, an update of the guest's credit
 * (unless an earlier packet has told the credit), a request that the guest tells its credit.
 * Returns how many slots the turn has filled; 0 if there was nothing to send. */
static unsigned output_stream(struct core *core, struct stream *s, struct span *slots, unsigned n,
			      uint32_t *lengths)
{
	unsigned filled, shut;

	if (s->want & WANT_REQUEST) {
		s->want &= (uint8_t)~WANT_REQUEST;
		return put_control(core, s, slots, lengths, PACKET_REQUEST, 0);
	}
	if (s->want & WANT_RESPONSE) {
		s->want &= (uint8_t)~WANT_RESPONSE;
		return put_control(core, s, slots, lengths, PACKET_RESPONSE, 0);
	}
	if (has_data(s) && output_credit(s)) {
		filled = put_data(core, s, slots, n, lengths);
		if (filled)
			return filled;
	}
	shut = shut_due(s);
	if (shut) {
		s->told_shut = (uint8_t)shut;
		return put_control(core, s, slots, lengths, PACKET_SHUTDOWN, shut);
	}
	if (s->want & WANT_CREDIT)
		return put_control(core, s, slots, lengths, PACKET_CREDIT_UPDATE, 0);
	if (has_data(s) && !output_credit(s) && !s->asked) {
		s->asked = true;
		return put_control(core, s, slots, lengths, PACKET_CREDIT_REQUEST, 0);
	}
	return 0;
}

static unsigned output_refusal(struct core *core, struct span *slot, uint32_t *length)
{
	const struct refusal *r = &core->refusals[core->refusals_at];
	const struct packet p = {.src_cid = r->src_cid,
				 .dst_cid = r->dst_cid,
				 .src_port = r->src_port,
				 .dst_port = r->dst_port,
				 .type = r->type,
				 .op = PACKET_RST};
	uint8_t raw[PACKET_HEADER];

	packet_encode(&p, raw);
	span_write(slot, raw, sizeof(raw));
	*length = PACKET_HEADER;
	core->refusals_at = (core->refusals_at + 1) % core->refusals_size;
	core->refusals_count--;
	return 1;
}

unsigned core_wants(const struct core *core)
{
	const struct stream *s;

	if (core->refusals_count)
		return 1;
	if (core->table.ready.head == STREAM_NONE)
		return 0;
	s = &core->table.streams[core->table.ready.head];
	return s->bulk && !s->want ? CORE_SLOTS : 1;
}

unsigned core_output(struct core *core, struct span *slots, unsigned n, uint32_t *lengths)
{
	unsigned filled = 0;

	if (core->refusals_count)
		return output_refusal(core, slots, lengths);
	/* A stream that has nothing to send does not return to the queue. So the queue becomes
	 * empty and the loop ends. */
	while (!filled && core->table.ready.head != STREAM_NONE) {
		struct stream *s = &core->table.streams[core->table.ready.head];

		stream_unqueue(&core->table, s);
		filled = output_stream(core, s, slots, n, lengths);
		core_settle(core, s);
	}
	return filled;
}
