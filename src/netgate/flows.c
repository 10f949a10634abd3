/* SPDX-License-Identifier: MIT */
#include "netgate/flows.h"

#include <netinet/in.h>

#include "netgate/mix.h"

static size_t number_of_bucket(const struct flows *flows, const struct flow_key *key)
{
	uint64_t ports = (uint64_t)key->guest_port << 16 | key->port;
	uint64_t h = mix_bits(flows->seed ^ ((uint64_t)key->address << 32 | ports));

	return mix_bits(h ^ flows->seed ^ key->protocol) & (FLOW_BUCKETS - 1);
}

static bool is_same_flow(const struct flow *f, const struct flow_key *key, bool refused)
{
	return f->seen && f->address == key->address && f->guest_port == key->guest_port &&
	       f->port == key->port && f->protocol == key->protocol && f->refused == refused;
}

/* Returns true if the frame is TCP and does not belong to the connection of the entry f. A repeated
 * SYN of f belongs to it. */
static bool is_another_call(const struct flow *f, const struct flow_key *key)
{
	return key->protocol == IPPROTO_TCP &&
	       (f->is_over || f->state == FLOW_SHUT || f->call != key->sequence);
}

/* Returns true if a new flow should replace the entry f rather than the entry other. */
static bool is_more_idle(const struct flow *f, const struct flow *other)
{
	if ((f->state != FLOW_TOLD) != (other->state != FLOW_TOLD))
		return f->state == FLOW_TOLD;
	return f->seen < other->seen;
}

struct flow *flows_note(struct flows *flows, const struct flow_key *key, bool refused, uint64_t now,
			bool *is_new)
{
	struct flow *bucket = flows->table[number_of_bucket(flows, key)], *idle = bucket;

	for (int i = 0; i < FLOW_WAYS; i++) {
		struct flow *f = &bucket[i];

		if (is_same_flow(f, key, refused)) {
			*is_new = now - f->seen > flows->idle_ns || is_another_call(f, key);
			f->seen = now;
			f->call = key->sequence;
			f->is_over = false;
			return f;
		}
		if (is_more_idle(f, idle))
			idle = f;
	}
	flows->lost += idle->line == LINE_WAITS;
	flows_set_line(flows, idle, LINE_TOLD, now);
	*idle = (struct flow){.seen = now,
			      .call = key->sequence,
			      .address = key->address,
			      .guest_port = key->guest_port,
			      .port = key->port,
			      .protocol = key->protocol,
			      .refused = refused};
	*is_new = true;
	return idle;
}

struct flow *flows_find(struct flows *flows, const struct flow_key *key, uint64_t now)
{
	struct flow *bucket = flows->table[number_of_bucket(flows, key)];
	uint64_t idle = key->protocol == IPPROTO_TCP ? flows->tcp_idle_ns : flows->idle_ns;

	for (int i = 0; i < FLOW_WAYS; i++) {
		struct flow *f = &bucket[i];

		if (f->state == FLOW_TOLD || !is_same_flow(f, key, false))
			continue;
		if (now - f->seen > idle)
			return NULL;
		f->seen = now;
		return f;
	}
	return NULL;
}

bool flows_knows(const struct flows *flows, const struct flow_key *key, uint64_t now)
{
	const struct flow *bucket = flows->table[number_of_bucket(flows, key)];

	for (int i = 0; i < FLOW_WAYS; i++)
		if (is_same_flow(&bucket[i], key, false))
			return bucket[i].state != FLOW_SHUT &&
			       now - bucket[i].seen <= flows->idle_ns;
	return false;
}

void flows_end(struct flows *flows, const struct flow_key *key)
{
	struct flow *bucket = flows->table[number_of_bucket(flows, key)];

	for (int i = 0; i < FLOW_WAYS; i++)
		if (is_same_flow(&bucket[i], key, false))
			bucket[i].is_over = true;
}

void flows_set_line(struct flows *flows, struct flow *flow, enum flow_line line, uint64_t now)
{
	flows->waiting -= flow->line == LINE_WAITS;
	flows->waiting += line == LINE_WAITS;
	flow->line = (uint8_t)line;
	flow->called = now;
}

void flows_shut(struct flows *flows, uint8_t rule)
{
	for (int i = 0; i < FLOW_BUCKETS; i++)
		for (int k = 0; k < FLOW_WAYS; k++) {
			struct flow *f = &flows->table[i][k];

			if (f->state != FLOW_TOLD && f->rule == rule)
				f->state = FLOW_SHUT;
		}
}
