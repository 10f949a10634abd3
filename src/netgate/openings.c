/* SPDX-License-Identifier: MIT */
#include "netgate/openings.h"

#include <string.h>

/* Returns true if entry (slot) i keeps the words of a flow. The slot is free if it was released, or
 * if the table of flows has meanwhile given the entry of its flow to another flow. */
static bool is_held(const struct openings *o, size_t i)
{
	return o->of[i].flow && o->of[i].flow->slot == i + 1;
}

static size_t slot_to_take(const struct openings *o, uint64_t now)
{
	size_t oldest = 0;

	for (size_t i = 0; i < OPENINGS_MAX; i++) {
		if (!is_held(o, i))
			return i;
		if (o->of[i].since < o->of[oldest].since)
			oldest = i;
	}
	return now - o->of[oldest].since > o->patience_ns ? oldest : OPENINGS_MAX;
}

void openings_release(struct openings *o, struct flow *flow)
{
	if (!flow->slot)
		return;
	o->of[flow->slot - 1].flow = NULL;
	o->used--;
	flow->slot = 0;
}

struct held_opening *openings_of(struct openings *o, struct flow *flow, uint64_t now)
{
	size_t i = flow->slot ? flow->slot - 1u : slot_to_take(o, now);
	struct held_opening *held;

	if (i == OPENINGS_MAX)
		return NULL;
	held = &o->of[i];
	if (flow->slot)
		return held;
	if (is_held(o, i)) {
		/* The flow that loses its slot cannot go on. If its words were judged, passt may
		 * have a part of them, and must not get other words after this part. If its words
		 * were not judged, netgate has already acknowledged some of them, and the guest
		 * does not send acknowledged words again. */
		if (held->len)
			held->flow->state = FLOW_SHUT;
		openings_release(o, held->flow);
	}
	o->used += !held->flow;
	held->flow = flow;
	held->since = now;
	held->judged = false;
	held->len = 0;
	flow->slot = (uint8_t)(i + 1);
	return held;
}

bool opening_agrees(const struct held_opening *held, size_t offset, struct bytes payload)
{
	if (offset >= held->len)
		return true;
	if (payload.len > held->len - offset)
		payload.len = held->len - offset;
	return memcmp(held->bytes + offset, payload.at, payload.len) == 0;
}
