/* SPDX-License-Identifier: MIT */
/*
 * Keeps the first words of connections until netgate knows which host the words name. After that
 * the words are kept until passt has acknowledged them: if the guest sends its words again, these
 * words must be equal to the judged words. The words are kept in a fixed number of entries (slots)
 * of a fixed size. If all slots are in use, a connection that has had its slot for too long loses
 * the slot to another connection. The guest must then open the first connection again.
 */
#ifndef NETGATE_OPENINGS_H
#define NETGATE_OPENINGS_H

#include "netgate/flows.h"
#include "netgate/opening.h"

#define OPENINGS_MAX 64

struct held_opening {
	/* The flow that has this slot. If flow->slot is not this slot, another connection has taken
	 * the entry of the flow, and the slot is free. */
	struct flow *flow;
	uint64_t since; /* the time in ns at which the flow got the slot */
	bool judged;	/* the words were judged, and may pass */
	size_t len;
	uint8_t bytes[OPENING_BYTES];
};

struct openings {
	unsigned used;	      /* number of slots that were given out and not released */
	uint64_t patience_ns; /* the time in ns for which a flow keeps its slot at least */
	struct held_opening of[OPENINGS_MAX];
};

/* Returns the slot that keeps the flow's words. If the flow has no slot, gives the flow a slot.
 * Returns NULL if no slot is free now. */
struct held_opening *openings_of(struct openings *openings, struct flow *flow, uint64_t now);
/* If a slot keeps the flow's words, drops the words and makes the slot free. */
void openings_release(struct openings *openings, struct flow *flow);
/* Returns true if the payload, which begins at `offset` in the stream, is equal to the kept words
 * at this offset. Bytes behind the end of the kept words are not compared. */
bool opening_agrees(const struct held_opening *held, size_t offset, struct bytes payload);

#endif
