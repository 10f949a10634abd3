/* SPDX-License-Identifier: MIT */
/* Handles packets of the guest. The header of each packet was copied into the daemon's memory
 * before; only the payload is still in guest memory. */
#include <assert.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "vsockd/core.h"
#include "vsockd/core_parts.h"

/* Answers a packet with an RST, which goes to the address that the packet names as its sender. An
 * RST itself gets no answer: otherwise the two ends could answer each other for ever. */
static void refuse_packet(struct core *core, const struct packet *p)
{
	const struct refusal r = {.src_cid = p->dst_cid,
				  .dst_cid = p->src_cid,
				  .src_port = p->dst_port,
				  .dst_port = p->src_port,
				  .type = p->type};

	if (p->op != PACKET_RST)
		core_refuse(core, &r);
}

/*
 * Stores the counts that the guest has sent about its buffer. Packets of two threads of the guest
 * may have overtaken each other, so a count may be older than the stored count; an older count is
 * ignored. A count of more bytes than were sent is wrong, and is ignored too. A guest that sends a
 * wrong count only loses credit.
 */
static void take_credit(struct stream *s, const struct packet *p)
{
	if (p->fwd_cnt - s->peer_fwd <= s->tx_cnt - s->peer_fwd)
		s->peer_fwd = p->fwd_cnt;
	s->peer_alloc = p->buf_alloc;
	if (output_credit(s))
		s->asked = false;
}

static bool open_from_guest(struct core *core, const struct packet *p)
{
	const struct host_port *port = NULL;
	struct stream *s;

	for (unsigned i = 0; i < core->config.nports && !port; i++)
		if (core->config.ports[i].port == p->dst_port)
			port = &core->config.ports[i];
	if (!port) {
		log_limited(core->config.log, "the guest dialled host port %u, which is not listed",
			    p->dst_port);
		return false;
	}
	s = stream_alloc(&core->table);
	if (!s) {
		log_limited(core->config.log, "all %u streams are in use", core->table.capacity);
		return false;
	}
	s->fd = host_dial(core, port);
	if (s->fd < 0 || host_watch(core, s) < 0) {
		stream_release(&core->table, s);
		return false;
	}
	stream_name(&core->table, s, p->dst_port, p->src_port);
	s->state = STREAM_OPEN;
	s->known = true;
	s->want = WANT_RESPONSE;
	take_credit(s, p);
	core_settle(core, s);
	return true;
}

/* --- packets of known streams: each function handles one operation --------------------------- */

typedef bool op_fn(struct core *core, struct stream *s, const struct packet *p,
		   struct span *payload);

/* Refuses an operation that is not allowed for a known stream. A second REQUEST means that the
 * guest has forgotten the stream. */
static bool op_illegal(struct core *core, struct stream *s, const struct packet *p,
		       struct span *payload)
{
	(void)core, (void)s, (void)p, (void)payload;
	return false;
}

static bool op_response(struct core *core, struct stream *s, const struct packet *p,
			struct span *payload)
{
	(void)p, (void)payload;
	/* If the REQUEST was not sent yet, the guest has only guessed the REQUEST, and the guest's
	 * answer is illegal. */
	if (s->state != STREAM_REQUESTED || !s->known)
		return false;
	s->state = STREAM_OPEN;
	stream_set_timer(&core->table, s, TIMER_NONE, 0);
	host_answer(core, s);
	return true;
}

static bool op_rst(struct core *core, struct stream *s, const struct packet *p,
		   struct span *payload)
{
	(void)p, (void)payload;
	core_guest_ended(core, s);
	return true;
}

static bool op_shutdown(struct core *core, struct stream *s, const struct packet *p,
			struct span *payload)
{
	uint8_t before = s->guest_shut;

	(void)payload;
	if (s->state == STREAM_REQUESTED)
		return false;
	s->guest_shut |= p->flags & SHUT_BOTH;
	if (s->guest_shut == SHUT_BOTH) {
		/* The guest waits for this RST, which tells the guest that the stream is over. */
		refuse_packet(core, p);
		core_guest_ended(core, s);
		return true;
	}
	if (s->state != STREAM_OPEN)
		return true;
	if (s->guest_shut & ~before & SHUT_RECEIVE) {
		shutdown(s->fd, SHUT_RD);
		s->readable = false;
	}
	host_flush(core, s);
	return true;
}

static bool op_rw(struct core *core, struct stream *s, const struct packet *p, struct span *payload)
{
	/* The guest may have sent the packet before it knew that the host has closed the stream. */
	if (s->state == STREAM_CLOSING)
		return true;
	if (s->state != STREAM_OPEN || s->guest_shut & SHUT_SEND)
		return false;
	if (p->len > core->table.buffer_bytes - stream_buffered(s)) {
		log_limited(core->config.log, "the guest sent more than its credit to host port %u",
			    s->host_port);
		return false;
	}
	host_send(core, s, payload);
	return true;
}

/* Does nothing: core_input() has already handled the packet's counts. */
static bool op_credit_update(struct core *core, struct stream *s, const struct packet *p,
			     struct span *payload)
{
	(void)core, (void)p, (void)payload;
	return s->state != STREAM_REQUESTED;
}

static bool op_credit_request(struct core *core, struct stream *s, const struct packet *p,
			      struct span *payload)
{
	(void)core, (void)p, (void)payload;
	s->want |= WANT_CREDIT;
	return s->state != STREAM_REQUESTED;
}

static op_fn *const ops[] = {
	[PACKET_INVALID] = op_illegal,
	[PACKET_REQUEST] = op_illegal,
	[PACKET_RESPONSE] = op_response,
	[PACKET_RST] = op_rst,
	[PACKET_SHUTDOWN] = op_shutdown,
	[PACKET_RW] = op_rw,
	[PACKET_CREDIT_UPDATE] = op_credit_update,
	[PACKET_CREDIT_REQUEST] = op_credit_request,
};
static_assert(ARRAY_SIZE(ops) == PACKET_OP_COUNT, "every operation has its function");

void core_input(struct core *core, const struct packet *p, struct span *payload)
{
	op_fn *op = p->op < PACKET_OP_COUNT ? ops[p->op] : op_illegal;
	uint16_t generation;
	struct stream *s;
	bool sound;

	if (p->src_cid != core->config.guest_cid || p->dst_cid != PACKET_HOST_CID ||
	    p->type != PACKET_STREAM) {
		log_limited(core->config.log,
			    "the guest sent a packet from CID %llu to CID %llu of type %u",
			    (unsigned long long)p->src_cid, (unsigned long long)p->dst_cid,
			    p->type);
		refuse_packet(core, p);
		return;
	}
	s = stream_find(&core->table, p->dst_port, p->src_port);
	if (!s) {
		if (p->op != PACKET_REQUEST || p->len || !open_from_guest(core, p))
			refuse_packet(core, p);
		return;
	}
	generation = s->generation;
	/* Only an RW packet has a payload. The length in its header must not exceed the bytes that
	 * came with it. */
	sound = p->len <= (p->op == PACKET_RW ? payload->bytes : 0) || p->op == PACKET_RST;
	take_credit(s, p);
	span_limit(payload, p->len);
	if (!sound || !op(core, s, p, payload))
		core_abort(core, s);
	if (s->generation == generation)
		core_settle(core, s);
}
