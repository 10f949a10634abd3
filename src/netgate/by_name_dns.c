/* SPDX-License-Identifier: MIT */
/* Questions of DNS, which lead out by themselves, and their answers, which say what addresses names
 * have. */
#include <netinet/in.h>

#include "base/clock.h"
#include "base/limits.h"
#include "netgate/by_name.h"
#include "netgate/dns_answer.h"
#include "netgate/dns_query.h"
#include "netgate/mix.h"
#include "netgate/put.h"

#define NS_PER_SECOND (1000 * NS_PER_MS)
#define BURST_SECONDS 3
#define PROTOCOL_OF_QUESTIONS 255 /* of no packet: they are told of as connections are */

static uint64_t hash_name(uint64_t seed, const struct host_name *name)
{
	uint64_t h = seed;

	for (size_t i = 0; i < name->len; i++)
		h = mix_bits(h ^ (uint64_t)(unsigned char)name->text[i]);
	return h;
}

/* A name and type once, until it was not asked for a while. */
static void tell_once(struct gate *g, const struct dns_question *q, enum telling telling)
{
	uint64_t h = hash_name(g->flows.seed, &q->name);
	const struct flow_key key = {.protocol = PROTOCOL_OF_QUESTIONS,
				     .address = (uint32_t)h,
				     .guest_port = (uint16_t)(h >> 32),
				     .port = q->type};
	bool is_new;

	flows_note(&g->flows, &key, telling != TELL_PASSED, g->now, &is_new);
	if (is_new)
		tell_question(&g->teller, q, telling, g->now);
}

/* To the guest, of a frame of its own or one that it was to get. */
static void answer_guest(struct gate *g, const uint8_t *frame, enum direction direction,
			 struct bytes message, const struct dns_question *q, unsigned code)
{
	uint8_t datagram[DNS_ANSWER_MAX], out[COMPOSE_DATAGRAM + DNS_ANSWER_MAX];
	struct bytes made = {datagram, 0};

	if (g->passt < 0)
		return;
	made.len = dns_make_answer(datagram, message, q, code);
	lane_insert(&g->in, out, compose_datagram(out, frame, direction, made));
}

/* --- questions ------------------------------------------------------------------------------- */

static bool may_ask(struct gate *g)
{
	uint64_t price = NS_PER_SECOND / limit_get(LIMIT_NETGATE_QUERIES);
	uint64_t most = BURST_SECONDS * NS_PER_SECOND;
	struct egress *e = &g->egress;

	e->credit_ns += g->now - e->asked_at;
	if (e->credit_ns > most)
		e->credit_ns = most;
	e->asked_at = g->now;
	if (e->credit_ns < price)
		return false;
	e->credit_ns -= price;
	return true;
}

bool by_name_question(struct gate *g, uint8_t *frame, size_t len)
{
	struct dns_question q;
	struct segment s;
	bool dry = g->egress.dry;

	if (!segment_read(frame, len, &s) || !dns_read_query(s.payload, &q))
		return false;
	if (q.class != DNS_IN || names_next(&g->egress.names, &q.name, 0) < 0) {
		tell_once(g, &q, dry ? TELL_WOULD_REFUSE : TELL_REFUSED);
		if (!dry)
			answer_guest(g, frame, BACK, s.payload, &q, DNS_NO_SUCH_NAME);
		return dry;
	}
	/* There is no way to an IPv6 address, and the rest would say more than addresses. */
	if (q.type != DNS_A) {
		if (!dry)
			answer_guest(g, frame, BACK, s.payload, &q, DNS_OK);
		return dry;
	}
	if (!dry && !may_ask(g))
		return false;
	asked_note(&g->egress.asked, s.from_port, &q);
	tell_once(g, &q, TELL_PASSED);
	if (!dry) {
		dns_tame_query(frame + (s.payload.at - frame), s.payload.len, &q);
		compose_mend_datagram(frame);
	}
	return true;
}

/* --- answers --------------------------------------------------------------------------------- */

static uint64_t pinned_until(uint64_t now, uint32_t ttl)
{
	uint64_t seconds = ttl, least = limit_get(LIMIT_NETGATE_PIN_LEAST_S),
		 most = limit_get(LIMIT_NETGATE_PIN_MOST_S);

	if (seconds < least)
		seconds = least;
	if (seconds > most)
		seconds = most;
	return now + (seconds + limit_get(LIMIT_NETGATE_PIN_GRACE_S)) * NS_PER_SECOND;
}

static void pin_addresses(struct gate *g, const struct dns_question *q, const struct dns_answer *a)
{
	struct egress *e = &g->egress;

	for (int rule = names_next(&e->names, &q->name, 0); rule >= 0;
	     rule = names_next(&e->names, &q->name, rule + 1))
		for (size_t i = 0; i < a->count; i++)
			pins_add(&e->pins, a->addresses[i].address, (uint8_t)rule, &q->name,
				 pinned_until(g->now, a->addresses[i].ttl));
}

bool by_name_answer(struct gate *g, uint8_t *frame, const struct segment *s)
{
	uint8_t *message = frame + (s->payload.at - frame);
	struct dns_question q;
	struct dns_answer a;
	bool sound;

	if (!asked_take(&g->egress.asked, s->to_port, s->payload, &q))
		return g->egress.dry;
	sound = dns_read_answer(s->payload, &q, &a);
	if (sound)
		pin_addresses(g, &q, &a);
	if (g->egress.dry)
		return true;
	/* TCP, by which the whole of it could be asked, is shut. */
	if (!sound || (a.truncated && !a.count)) {
		answer_guest(g, frame, ONWARD, s->payload, &q, DNS_SERVER_FAILED);
		return false;
	}
	put16(message + 2, u16(s->payload, 2) & ~(unsigned)DNS_TRUNCATED);
	dns_cap_ttls(message, s->payload.len, &q, (uint32_t)limit_get(LIMIT_NETGATE_PIN_MOST_S));
	compose_mend_datagram(frame);
	return true;
}
