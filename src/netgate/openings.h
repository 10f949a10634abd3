/* SPDX-License-Identifier: MIT */
/*
 * The first words of connections, kept until it is known whom they are for, and then until the
 * other end has them: what the guest sends again must be what was judged. In a place of fixed size
 * each, and so many places; one that was held too long makes room, and its guest has to begin anew.
 */
#ifndef NETGATE_OPENINGS_H
#define NETGATE_OPENINGS_H

#include "netgate/flows.h"
#include "netgate/opening.h"

#define OPENINGS_MAX 64

struct held_opening {
	struct flow *flow; /* whose slot this is, while it says so */
	uint64_t since;	   /* ns */
	bool judged;	   /* for good */
	size_t len;
	uint8_t bytes[OPENING_BYTES];
};

struct openings {
	unsigned used; /* 0: nothing is held */
	uint64_t patience_ns;
	struct held_opening of[OPENINGS_MAX];
};

/* The flow's own, which becomes one if there is room; NULL: there is none now. */
struct held_opening *openings_of(struct openings *openings, struct flow *flow, uint64_t now);
void openings_release(struct openings *openings, struct flow *flow);
/* Whether the bytes from that place in the stream on are those that were kept, as far as they
 * reach. */
bool opening_agrees(const struct held_opening *held, size_t offset, struct bytes payload);

#endif
