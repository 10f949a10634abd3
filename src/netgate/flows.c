/* SPDX-License-Identifier: MIT */
#include "netgate/flows.h"

static uint64_t mix_bits(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

static struct flow *flow_bucket(struct flows *flows, const struct flow_key *key)
{
	uint64_t ports = (uint64_t)key->guest_port << 16 | key->port;
	uint64_t h = mix_bits(flows->seed ^ ((uint64_t)key->address << 32 | ports));

	return flows->table[mix_bits(h ^ flows->seed ^ key->protocol) & (FLOW_BUCKETS - 1)];
}

static bool is_same_flow(const struct flow *f, const struct flow_key *key, bool refused)
{
	return f->seen && f->address == key->address && f->guest_port == key->guest_port &&
	       f->port == key->port && f->protocol == key->protocol && f->refused == refused;
}

bool flows_note(struct flows *flows, const struct flow_key *key, bool refused, uint64_t now)
{
	struct flow *bucket = flow_bucket(flows, key), *oldest = bucket;

	for (int i = 0; i < FLOW_WAYS; i++) {
		struct flow *f = &bucket[i];

		if (is_same_flow(f, key, refused)) {
			bool new = now - f->seen > flows->idle_ns;

			f->seen = now;
			return new;
		}
		if (f->seen < oldest->seen)
			oldest = f;
	}
	*oldest = (struct flow){.seen = now,
				.address = key->address,
				.guest_port = key->guest_port,
				.port = key->port,
				.protocol = key->protocol,
				.refused = refused};
	return true;
}
