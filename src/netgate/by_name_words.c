/* SPDX-License-Identifier: MIT */
/* Judges the first words of connections: the bytes at the beginning of a stream, which name a
 * host. */
#include <netinet/in.h>
#include <string.h>

#include "netgate/by_name.h"

#define PORT_TLS 443

/* Returns true if `sequence` is before `other`. Sequence numbers wrap around at 32 bits, so the
 * sign of their difference decides. */
static bool is_before(uint32_t sequence, uint32_t other)
{
	return (int32_t)(sequence - other) < 0;
}

/* Refuses the words of a connection. In a dry run only tells the supervisor that the words would be
 * refused. Returns true if the frame may pass. */
static bool refuse_words(struct gate *g, struct flow *flow, const struct flow_key *key,
			 const char *name, const uint8_t *frame, const struct segment *segment)
{
	bool dry = g->egress.dry;

	/* The line about the refusal also reports the connection, so the connection gets no second
	 * line. */
	flows_set_line(&g->flows, flow, LINE_TOLD, g->now);
	tell_opening(&g->teller, key->port == PORT_TLS ? "tls" : "http", key, name,
		     dry ? TELL_WOULD_REFUSE : TELL_REFUSED, g->now);
	openings_release(&g->egress.openings, flow);
	flow->state = dry ? FLOW_OPEN : FLOW_SHUT;
	if (!dry)
		by_name_end(g, frame, segment, flow->start);
	return dry;
}

/* Acknowledges the guest's words that were kept. Without the acknowledgement the guest would not
 * send the next segment of its words (RFC 896), and would send the kept segments again and
 * again. */
static void acknowledge_kept(struct gate *g, const struct flow *flow,
			     const struct held_opening *held, const uint8_t *frame,
			     const struct segment *segment)
{
	uint8_t out[COMPOSE_BARE];

	if (!(segment->flags & TCP_ACK))
		return;
	compose_acknowledgement(out, frame, segment->acknowledged,
				flow->start + (uint32_t)held->len);
	lane_insert(&g->in, out, sizeof(out));
}

/* Sends passt all kept words in one frame, in place of the frame with the last segment of the
 * words. */
static void let_through(struct gate *g, const struct held_opening *held, uint32_t start,
			const uint8_t *frame)
{
	static uint8_t
		/* static, since no memory is allocated while netgate runs */
		out[COMPOSE_SEGMENT_HEADERS + OPENING_BYTES];
	size_t len = compose_segment(out, frame, start, (struct bytes){held->bytes, held->len});

	/* If the lane has no room, nothing is lost: the guest sends the last segment again, and
	 * netgate then sends all words. */
	lane_insert(&g->out, out, len);
}

static bool judge_words(struct gate *g, struct flow *flow, const struct flow_key *key,
			struct held_opening *held, const uint8_t *frame,
			const struct segment *segment)
{
	const struct bytes words = {held->bytes, held->len};
	struct egress *e = &g->egress;
	struct host_name name = {0};
	enum opening opening = key->port == PORT_TLS ? client_hello_read(words, &name)
						     : request_head_read(words, &name);
	int rule = -1;

	if (opening == OPENING_UNFINISHED && held->len < OPENING_BYTES &&
	    !(segment->flags & TCP_FIN)) {
		if (!e->dry)
			acknowledge_kept(g, flow, held, frame, segment);
		return e->dry;
	}
	if (opening == OPENING_NAMED)
		rule = pins_find(&e->pins, &e->names, key->address, key->port, &name, g->now);
	if (rule < 0)
		return refuse_words(g, flow, key,
				    opening == OPENING_NAMED	  ? name.text
				    : opening == OPENING_NAMELESS ? "-"
								  : "?",
				    frame, segment);
	flow->rule = (uint8_t)rule;
	by_name_tell_opened(g, flow);
	held->judged = true;
	if (e->dry || segment->sequence == flow->start)
		return true;
	let_through(g, held, flow->start, frame);
	return false;
}

bool by_name_words(struct gate *g, struct flow *flow, const struct flow_key *key,
		   const uint8_t *frame, const struct segment *segment)
{
	struct held_opening *held = openings_of(&g->egress.openings, flow, g->now);
	size_t offset = segment->sequence - flow->start, taken = segment->payload.len;

	if (!held || is_before(segment->sequence, flow->start))
		return g->egress.dry;
	flow->has_said = true;
	flow->said = flow->start;
	if (g->egress.dry && (held->judged || offset != held->len))
		return true;
	if (held->judged) {
		if (!opening_agrees(held, offset, segment->payload))
			return false;
		if (offset == 0 || offset >= held->len)
			return true;
		/* The guest has sent the last segment of its words again, since no acknowledgement
		 * of this segment has come. netgate itself has acknowledged the earlier segments,
		 * so netgate sends passt all words once more. */
		let_through(g, held, flow->start, frame);
		return false;
	}
	/* The segment is out of order, or was sent before, so it is dropped. If its words are
	 * needed later, the guest's TCP sends these words again. */
	if (offset != held->len) {
		acknowledge_kept(g, flow, held, frame, segment);
		return false;
	}
	if (taken > OPENING_BYTES - held->len)
		taken = OPENING_BYTES - held->len;
	memcpy(held->bytes + held->len, segment->payload.at, taken);
	held->len += taken;
	return judge_words(g, flow, key, held, frame, segment);
}

/* Notes a segment that passt sends to the guest. The acknowledgement in the segment says how many
 * of the guest's words passt has taken. */
void by_name_heard(struct gate *g, const struct segment *s)
{
	const struct flow_key key = segment_flow(s);
	struct flow *flow = by_name_hears(g, key.port) && (s->flags & TCP_ACK)
				    ? flows_find(&g->flows, &key, g->now)
				    : NULL;

	if (!flow || flow->state == FLOW_SHUT)
		return;
	if (s->flags & TCP_SYN) {
		/* Only the answer to the latest SYN counts, not an answer to an older one. */
		if (flow->state == FLOW_CALLED && s->acknowledged == flow->start)
			flow->state = FLOW_SAYS;
	} else if (flow->state == FLOW_SAYS && flow->slot) {
		const struct held_opening *held = &g->egress.openings.of[flow->slot - 1];

		if (!held->judged || is_before(s->acknowledged, flow->start + (uint32_t)held->len))
			return;
		openings_release(&g->egress.openings, flow);
		flow->state = FLOW_OPEN;
	}
}
