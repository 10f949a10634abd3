/* SPDX-License-Identifier: MIT */
/*
 * The first words of connections. They are kept until netgate knows which host they are for, and
 * then until the other end has them: what the guest sends again must be what was judged. There is a
 * fixed number of slots of a fixed size. A slot that was held too long makes room for another
 * connection, and the guest has to open the first connection anew.
 */
#ifndef NETGATE_OPENINGS_H
#define NETGATE_OPENINGS_H

#include "netgate/flows.h"
#include "netgate/opening.h"

#define OPENINGS_MAX 64

struct held_opening {
	struct flow *flow; /* the flow that has this slot, as long as the flow's own slot says so */
	uint64_t since;	   /* ns */
	bool judged;	   /* the words were judged, for good */
	size_t len;
	uint8_t bytes[OPENING_BYTES];
};

struct openings {
	unsigned used; /* 0: nothing is held */
	uint64_t patience_ns;
	struct held_opening of[OPENINGS_MAX];
};

/* Returns the slot of the flow, and gives the flow one if it has none and there is room; NULL if
 * there is no room now. */
struct held_opening *openings_of(struct openings *openings, struct flow *flow, uint64_t now);
void openings_release(struct openings *openings, struct flow *flow);
/* Returns true if the payload at that offset of the stream is equal to the kept words, as far as
 * the kept words reach. */
bool opening_agrees(const struct held_opening *held, size_t offset, struct bytes payload);

#endif
