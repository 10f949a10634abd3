/* SPDX-License-Identifier: MIT */
/*
 * Keeps the first words of connections. They are kept until netgate knows which host they name, and
 * after that until the other end has them, since the guest may send its words again: the repeated
 * words must be equal to the judged ones. There is a fixed number of slots of a fixed size. If all
 * slots are taken, a slot that was held for too long is given to another connection, and the guest
 * has to open the first connection again.
 */
#ifndef NETGATE_OPENINGS_H
#define NETGATE_OPENINGS_H

#include "netgate/flows.h"
#include "netgate/opening.h"

#define OPENINGS_MAX 64

struct held_opening {
	struct flow *flow; /* the flow that has this slot. If flow->slot is not this slot, another
			    * connection has taken the entry of the flow, and the slot is free. */
	uint64_t since;	   /* time in ns since when the flow has the slot */
	bool judged;	   /* the words were judged, and may pass */
	size_t len;
	uint8_t bytes[OPENING_BYTES];
};

struct openings {
	unsigned used;	      /* number of slots that were given out and not released */
	uint64_t patience_ns; /* the least time in ns for which a flow keeps its slot */
	struct held_opening of[OPENINGS_MAX];
};

/* Returns the slot of the flow. If the flow has no slot, gives it one. Returns NULL if no slot is
 * free now. */
struct held_opening *openings_of(struct openings *openings, struct flow *flow, uint64_t now);
/* Makes the slot of the flow free, if the flow has one. */
void openings_release(struct openings *openings, struct flow *flow);
/* Returns true if the payload, which begins at the offset of the stream, is equal to the kept words
 * at this place. Bytes behind the end of the kept words are not compared. */
bool opening_agrees(const struct held_opening *held, size_t offset, struct bytes payload);

#endif
