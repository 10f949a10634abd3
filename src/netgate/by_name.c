/* SPDX-License-Identifier: MIT */
/* Judges connections, and changes the list of names. */
#include "netgate/by_name.h"

#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"

/* The text in a line to the supervisor in place of a rule's name, if the guest has sent no bytes on
 * the connection. */
#define NO_WORDS "-"
#define PORT_QUIC 443
#define CALL_MAX 128 /* the most bytes of a SYN: with all options of TCP, and some padding */

static bool refuse_opening(struct gate *g, const uint8_t *frame, size_t len,
			   const struct flow_key *key)
{
	bool is_new, dry = g->egress.dry;

	flows_note(&g->flows, key, true, g->now, &is_new);
	if (is_new)
		tell_connection(&g->teller, key, NULL, dry ? TELL_WOULD_REFUSE : TELL_REFUSED,
				g->now);
	if (!dry)
		gate_answer_refused(g, frame, len);
	return dry;
}

/* --- lines on connections -------------------------------------------------------------------- */

bool by_name_hears(const struct gate *g, uint16_t port)
{
	return !g->egress.by_address && (port == 443 || port == 80);
}

static void tell_flow(struct gate *g, struct flow *flow, const char *name, enum flow_line line)
{
	const struct flow_key key = {.protocol = flow->protocol,
				     .guest_port = flow->guest_port,
				     .port = flow->port,
				     .address = flow->address};

	tell_connection(&g->teller, &key, name, TELL_PASSED, g->now);
	flows_set_line(&g->flows, flow, line, g->now);
}

void by_name_tell_opened(struct gate *g, struct flow *flow)
{
	if (flow->line != LINE_TOLD)
		tell_flow(g, flow, g->egress.names.rules[flow->rule].name, LINE_TOLD);
}

void by_name_tell_silent(struct gate *g, uint64_t silence_ns)
{
	struct flows *flows = &g->flows;

	if (!(flows->waiting || flows->lost) ||
	    (silence_ns && g->now - flows->looked_at < NS_PER_S))
		return;
	flows->looked_at = g->now;
	g->teller.unlisted += flows->lost;
	flows->lost = 0;
	for (size_t i = 0; i < FLOW_BUCKETS && flows->waiting; i++)
		for (size_t k = 0; k < FLOW_WAYS; k++) {
			struct flow *f = &flows->table[i][k];

			if (f->line == LINE_WAITS && g->now - f->called >= silence_ns)
				tell_flow(g, f, NO_WORDS, LINE_SILENT);
		}
}

/* Opens the flow if a name on the list opens the flow's address and port. Returns NULL if no name
 * opens them. */
static struct flow *open_flow(struct gate *g, const struct flow_key *key)
{
	struct egress *e = &g->egress;
	int rule = pins_find(&e->pins, &e->names, key->address, key->port, NULL, g->now);
	struct flow *flow;
	bool is_new;

	if (rule < 0)
		return NULL;
	flow = flows_note(&g->flows, key, false, g->now, &is_new);
	flow->rule = (uint8_t)rule;
	if (!is_new)
		return flow;
	/* If an earlier connection between the same ports still waits for its first words (the
	 * first bytes of its stream), the line about the earlier connection is sent before the new
	 * line. */
	if (flow->line == LINE_WAITS)
		tell_flow(g, flow, NO_WORDS, LINE_SILENT);
	flows_set_line(&g->flows, flow, LINE_WAITS, g->now);
	if (flow->protocol != IPPROTO_TCP || !by_name_hears(g, flow->port))
		by_name_tell_opened(g, flow);
	return flow;
}

/* --- TCP ------------------------------------------------------------------------------------- */

void by_name_end(struct gate *g, const uint8_t *frame, const struct segment *s, uint32_t sequence)
{
	uint8_t to_guest[COMPOSE_BARE], to_passt[COMPOSE_BARE];
	uint32_t end = s->sequence + (uint32_t)s->payload.len + !!(s->flags & TCP_FIN);

	if (g->passt < 0 || (s->flags & (TCP_ACK | TCP_RST)) != TCP_ACK ||
	    !refusals_take(&g->refusals, g->now))
		return;
	compose_reset(to_guest, frame, BACK, s->acknowledged, end, TCP_RST | TCP_ACK);
	compose_reset(to_passt, frame, ONWARD, sequence, s->acknowledged, TCP_RST | TCP_ACK);
	lane_insert(&g->in, to_guest, sizeof(to_guest));
	lane_insert(&g->out, to_passt, sizeof(to_passt));
}

/* Returns true if the guest repeats its SYN and has sent no words since the first SYN. The guest
 * may not have got the answer to the first SYN. */
static bool is_called_again(const struct flow *flow, const struct segment *syn)
{
	return flow->state == FLOW_SAYS && !flow->slot && syn->sequence + 1 == flow->start;
}

/* Sends passt a reset, and then the SYN. The reset ends any earlier connection between the same
 * ports. Otherwise passt's answer to the earlier connection could be taken for the answer to this
 * SYN. */
static bool call_anew(struct gate *g, const struct flow *flow, const uint8_t *frame, size_t len)
{
	uint8_t reset[COMPOSE_BARE], call[CALL_MAX];

	if (g->passt < 0 || len > sizeof(call))
		return false;
	memcpy(call, frame, len);
	compose_reset(reset, frame, ONWARD, flow->start, 0, TCP_RST | TCP_ACK);
	return lane_insert(&g->out, reset, sizeof(reset)) && lane_insert(&g->out, call, len);
}

/* Makes the flow wait for passt's answer to the SYN. The guest's words (the bytes of its stream)
 * begin at the sequence number after that of the SYN. Returns true if the frame may pass. */
static bool await_answer(struct gate *g, struct flow *flow, const struct segment *syn,
			 const uint8_t *frame, size_t len)
{
	bool anew = flow->state != FLOW_TOLD && syn->sequence + 1 != flow->start;

	if (is_called_again(flow, syn))
		return true;
	/* If the words (the bytes of the stream) of an earlier connection began at the sequence
	 * number at which the words of the new connection would begin, passt's frames for the two
	 * connections could not be told apart. So the SYN is refused. */
	if (flow->has_said && syn->sequence + 1 == flow->said)
		return g->egress.dry;
	if (anew && !g->egress.dry && !call_anew(g, flow, frame, len))
		return false;
	openings_release(&g->egress.openings, flow);
	flow->state = FLOW_CALLED;
	flow->start = syn->sequence + 1;
	return !anew || g->egress.dry;
}

static bool judge_syn(struct gate *g, const uint8_t *frame, size_t len, const struct flow_key *key)
{
	struct segment syn;
	struct flow *flow = open_flow(g, key);

	if (!flow)
		return refuse_opening(g, frame, len, key);
	/* A SYN with payload does not pass, since payload is judged only after the SYN. The guest
	 * sends the SYN again without payload. */
	if (!segment_read(frame, len, &syn) || syn.payload.len)
		return g->egress.dry;
	if (by_name_hears(g, key->port))
		return await_answer(g, flow, &syn, frame, len);
	flow->state = FLOW_OPEN;
	return true;
}

static bool judge_segment(struct gate *g, const uint8_t *frame, size_t len,
			  const struct flow_key *key)
{
	struct flow *flow = flows_find(&g->flows, key, g->now);
	struct segment segment;

	if (flow && flow->state == FLOW_OPEN)
		return true;
	if (!segment_read(frame, len, &segment))
		return false;
	if (!flow || flow->state == FLOW_SHUT) {
		if (!g->egress.dry)
			by_name_end(g, frame, &segment, segment.sequence);
		return g->egress.dry;
	}
	if (!segment.payload.len)
		return true;
	/* In a SYN of a connection that is already open, it is not certain at which sequence number
	 * the words begin. So the words cannot be judged. */
	if (segment.flags & TCP_SYN)
		return g->egress.dry;
	return flow->state == FLOW_SAYS ? by_name_words(g, flow, key, frame, &segment)
					: g->egress.dry;
}

/* --- all frames ------------------------------------------------------------------------------ */

static bool judge_datagram(struct gate *g, const uint8_t *frame, size_t len,
			   const struct flow_key *key)
{
	struct flow *flow = flows_find(&g->flows, key, g->now);

	if (flow && flow->state == FLOW_OPEN)
		return true;
	/* A datagram of QUIC does not show the name of its host. So UDP is refused at the port of
	 * QUIC. UDP is also refused at each port where connections are judged by their first words,
	 * since QUIC could use such a port. */
	flow = key->port == PORT_QUIC || by_name_hears(g, key->port) ? NULL : open_flow(g, key);
	if (!flow)
		return refuse_opening(g, frame, len, key);
	flow->state = FLOW_OPEN;
	return true;
}

bool by_name_frame(struct gate *g, const uint8_t *frame, size_t len, const struct flow_key *key)
{
	if (key->protocol == IPPROTO_UDP)
		return judge_datagram(g, frame, len, key);
	if (key->protocol != IPPROTO_TCP)
		return refuse_opening(g, frame, len, key);
	return key->opening ? judge_syn(g, frame, len, key) : judge_segment(g, frame, len, key);
}

/* Returns true if the guest has sent something to the sender of the datagram. passt has a socket
 * for each port from which the guest or netgate has sent, and passes on every datagram that comes
 * to this socket. If all these datagrams passed, an outsider who sends to all ports of the host
 * could show the guest which port a question of netgate has. */
static bool is_answer(const struct gate *g, const struct segment *s)
{
	const struct flow_key key = segment_flow(s);

	return flows_knows(&g->flows, &key, g->now);
}

/* Judges a frame that goes to the guest. The first test decides about most frames. */
bool by_name_inbound(struct gate *g, const uint8_t *frame, size_t len)
{
	const struct bytes whole = {frame, len};
	struct segment segment;

	if (u8(whole, FRAME_PROTOCOL) == IPPROTO_TCP) {
		if (((u8(whole, FRAME_TCP_FLAGS) & TCP_SYN) || g->egress.openings.used) &&
		    segment_read(frame, len, &segment))
			by_name_heard(g, &segment);
		return true;
	}
	if (u8(whole, FRAME_PROTOCOL) != IPPROTO_UDP || !segment_read(frame, len, &segment))
		return true;
	if (segment.from == g->screen.dns && segment.from_port == DNS_PORT)
		return by_name_answer(g, frame, &segment);
	return g->egress.dry || is_answer(g, &segment);
}

/* --- changes --------------------------------------------------------------------------------- */

void by_name_change(struct gate *g, bool allow, const char *text)
{
	struct egress_rule rule;
	struct prefix prefix;
	int number;

	if (!g->screen.by_name)
		return;
	if (prefix_parse(text, &prefix) == 0) {
		if (allow)
			prefixes_add_egress(&g->screen.prefixes, prefix);
		else
			prefixes_remove_egress(&g->screen.prefixes, prefix);
		return;
	}
	if (egress_rule_parse(text, &rule, NULL) < 0)
		return;
	if (allow) {
		names_add(&g->egress.names, &rule);
		return;
	}
	number = names_remove(&g->egress.names, &rule);
	if (number < 0)
		return;
	pins_drop(&g->egress.pins, (uint8_t)number);
	flows_shut(&g->flows, (uint8_t)number);
}
