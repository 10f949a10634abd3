/* SPDX-License-Identifier: MIT */
/*
 * Judges the answers of DNS, which say which addresses a name has. Only an answer to a question
 * that netgate has sent (by_name_question.c) counts. Such an answer comes from the resolver, and
 * has the number and the port of the question. netgate has drawn this number and this port at
 * random; in a dry run the guest has chosen them. dns_answer.c reads the message.
 */
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "netgate/by_name.h"
#include "netgate/dns_answer.h"
#include "netgate/put.h"

static uint64_t pinned_until(uint64_t now, uint32_t ttl)
{
	uint64_t seconds = ttl, least = limit_get(LIMIT_NETGATE_PIN_LEAST_S),
		 most = limit_get(LIMIT_NETGATE_PIN_MOST_S);

	if (seconds < least)
		seconds = least;
	if (seconds > most)
		seconds = most;
	return now + (seconds + limit_get(LIMIT_NETGATE_PIN_GRACE_S)) * NS_PER_S;
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

bool by_name_answer(struct gate *g, const uint8_t *frame, const struct segment *s)
{
	const struct asked_question *taken[ASKED_MAX];
	size_t count = asked_take(&g->egress.asked, s->to_port, s->payload, g->now, taken);
	uint8_t like[COMPOSE_DATAGRAM], message[DNS_ANSWER_MAX];
	uint8_t out[COMPOSE_DATAGRAM + DNS_ANSWER_MAX];
	struct bytes reply = {message, s->payload.len};
	const struct dns_question *q;
	struct dns_answer a;
	bool sound, dry = g->egress.dry;

	if (!count) {
		if (!dry)
			asked_count_wrong(&g->egress.asked, s->to_port, g->now);
		return dry;
	}
	q = &taken[0]->question;
	sound = dns_read_answer(s->payload, q, &a);
	if (sound)
		pin_addresses(g, q, &a);
	if (dry)
		return true;
	/* Every program of the guest that has asked this question gets the resolver's answer. If
	 * the answer cannot be used, or is truncated and has no address, every such program is told
	 * that the resolver has failed. The programs cannot get the whole answer by DNS over TCP,
	 * since netgate refuses DNS over TCP. */
	if (!sound || (a.truncated && !a.count)) {
		reply.len = dns_make_answer(message, s->payload, q, DNS_SERVER_FAILED);
	} else {
		memcpy(message, s->payload.at, s->payload.len);
		put16(message + 2, u16(s->payload, 2) & ~(unsigned)DNS_TRUNCATED);
		dns_cap_ttls(message, reply.len, q, (uint32_t)limit_get(LIMIT_NETGATE_PIN_MOST_S));
	}
	/* The first reply takes the place of the frame in the lane. So the frame's headers are
	 * copied before. */
	memcpy(like, frame, sizeof(like));
	/* Each reply has the number, the port and the spelling of the name that the guest's program
	 * has used in its question. */
	for (size_t i = 0; i < count; i++) {
		const struct asker *asker = &taken[i]->asker;

		put16(message, asker->id);
		memcpy(message + DNS_HEADER, asker->name, dns_name_bytes(&taken[i]->question));
		put16(like + FRAME_TO_PORT, asker->port);
		lane_insert(&g->in, out, compose_datagram(out, like, ONWARD, reply));
	}
	return false;
}
