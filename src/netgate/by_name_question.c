/* SPDX-License-Identifier: MIT */
/*
 * Judges a guest's questions of DNS. The guest's own question is not sent to the resolver, except
 * in a dry run. Instead netgate makes and sends a question of its own, with a number and a port
 * that netgate draws at random. by_name_answer.c judges the answers.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/limits.h"
#include "netgate/by_name.h"
#include "netgate/dns_answer.h"
#include "netgate/dns_query.h"
#include "netgate/mix.h"
#include "netgate/put.h"

#define BURST_SECONDS 3
/* The protocol number of the entries for questions in the table of flows. No packet has this
 * protocol. Through these entries netgate tells the supervisor of each question only once. */
#define PROTOCOL_OF_QUESTIONS 255

/*
 * The lowest source port of a question. passt sends the question from a socket of the host that has
 * the same port. If a program of the host has the port already, passt loses the datagram. Clients
 * use the ports from LOWEST_PORT on, and hardly any server uses these ports.
 */
#define LOWEST_PORT 0x8000

/* Tells the supervisor of a question for a name and a type, unless the supervisor was told of the
 * same question lately. */
static void tell_once(struct gate *g, const struct dns_question *q, enum telling telling)
{
	uint64_t h = g->flows.seed;
	bool is_new;

	for (size_t i = 0; i < q->name.len; i++)
		h = mix_bits(h ^ (uint64_t)(unsigned char)q->name.text[i]);
	const struct flow_key key = {.protocol = PROTOCOL_OF_QUESTIONS,
				     .address = (uint32_t)h,
				     .guest_port = (uint16_t)(h >> 32),
				     .port = q->type};
	flows_note(&g->flows, &key, telling != TELL_PASSED, g->now, &is_new);
	if (is_new)
		tell_question(&g->teller, q, telling, g->now);
}

/* Sends the guest an answer, as if the resolver had sent it. */
static void answer_guest(struct gate *g, const uint8_t *frame, struct bytes message,
			 const struct dns_question *q, unsigned code)
{
	uint8_t datagram[DNS_ANSWER_MAX], out[COMPOSE_DATAGRAM + DNS_ANSWER_MAX];
	struct bytes made = {datagram, 0};

	if (g->passt < 0)
		return;
	made.len = dns_make_answer(datagram, message, q, code);
	lane_insert(&g->in, out, compose_datagram(out, frame, BACK, made));
}

static bool may_ask(struct gate *g)
{
	uint64_t price = NS_PER_S / limit_get(LIMIT_NETGATE_QUERIES);
	uint64_t most = BURST_SECONDS * NS_PER_S;
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

/* Sends a question that netgate has made, in place of the guest's question. */
static void ask_resolver(struct gate *g, uint8_t *frame, struct asked_question *asked)
{
	uint8_t message[DNS_QUERY_MAX], out[COMPOSE_DATAGRAM + DNS_QUERY_MAX];
	struct bytes made = {message, 0};
	uint16_t drawn[2];

	if (asked_join(&g->egress.asked, &asked->question, &asked->asker, g->now) || !may_ask(g))
		return;
	tell_once(g, &asked->question, TELL_PASSED);
	/* The number and the port are random, so that an attacker cannot guess them. */
	if (g->passt < 0 || getrandom(drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
		return;
	asked->question.id = drawn[0];
	asked->port = LOWEST_PORT | drawn[1];
	asked_note(&g->egress.asked, asked);
	asked_move(&g->egress.asked, asked);
	made.len = dns_make_query(message, &asked->question);
	put16(frame + FRAME_FROM_PORT, asked->port);
	lane_insert(&g->out, out, compose_datagram(out, frame, ONWARD, made));
}

bool by_name_question(struct gate *g, uint8_t *frame, size_t len)
{
	struct asked_question asked = {.since = g->now};
	struct dns_question *q = &asked.question;
	struct segment s;
	bool dry = g->egress.dry;

	if (!segment_read(frame, len, &s) || !dns_read_query(s.payload, q))
		return false;
	if (q->class != DNS_IN || names_next(&g->egress.names, &q->name, 0) < 0) {
		tell_once(g, q, dry ? TELL_WOULD_REFUSE : TELL_REFUSED);
		if (!dry)
			answer_guest(g, frame, s.payload, q, DNS_NO_SUCH_NAME);
		return dry;
	}
	/* Questions for other types than A get an empty answer. An IPv6 address would be of no use,
	 * since the guest cannot reach an IPv6 address. Other records would tell the guest more
	 * than addresses. */
	if (q->type != DNS_A) {
		if (!dry)
			answer_guest(g, frame, s.payload, q, DNS_OK);
		return dry;
	}
	asked.asker.id = q->id;
	asked.asker.port = s.from_port;
	memcpy(asked.asker.name, s.payload.at + DNS_HEADER, dns_name_bytes(q));
	if (!dry) {
		ask_resolver(g, frame, &asked);
		return false;
	}
	asked.port = s.from_port;
	asked_note(&g->egress.asked, &asked);
	tell_once(g, q, TELL_PASSED);
	return true;
}
