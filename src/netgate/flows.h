/* SPDX-License-Identifier: MIT */
/*
 * Connections, in a table that never grows: 4-way buckets. Most are only known to have been told
 * of; the newest takes the place of the one that was quiet longest, and a guest that opens more at
 * once than fit is told of more often than need be, never less.
 *
 * Under a list of names those are in it too that a name has opened: what is no such connection's
 * does not pass, and what is passes although the name's address may be another by now. They make
 * room last.
 */
#ifndef NETGATE_FLOWS_H
#define NETGATE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "netgate/screen.h"

#define FLOW_WAYS 4
#define FLOW_BUCKETS 2048 /* a power of two */

enum flow_state {
	FLOW_TOLD,   /* nothing more is known of it */
	FLOW_OPEN,   /* by a name */
	FLOW_CALLED, /* by a name, but its first words are to be judged, and it has no answer yet */
	FLOW_SAYS,   /* the same with its answer, so that it may speak */
	FLOW_SHUT    /* it was one of these */
};

struct flow {
	uint64_t seen; /* ns; 0: free */
	uint32_t address;
	uint16_t guest_port, port;
	uint8_t protocol;
	uint8_t refused;
	uint8_t state;
	uint8_t rule; /* that opened it */
	uint8_t slot; /* of openings.h, 0: none */
	bool has_said;
	uint32_t said;	/* where the latest words that were kept began */
	uint32_t start; /* where its words begin in the guest's stream; since FLOW_CALLED */
};

struct flows {
	uint64_t idle_ns;     /* quiet for so long: the next is a new connection */
	uint64_t tcp_idle_ns; /* one that a name has opened is kept for so long */
	uint64_t seed;	      /* so that nobody can aim at a bucket */
	struct flow table[FLOW_BUCKETS][FLOW_WAYS];
};

/* Notes it as seen now; *is_new when it was not known. */
struct flow *flows_note(struct flows *flows, const struct flow_key *key, bool refused, uint64_t now,
			bool *is_new);
/* One that a name has opened, and not too long ago; NULL: it is none. */
struct flow *flows_find(struct flows *flows, const struct flow_key *key, uint64_t now);
/* Whether the guest has written to the flow's other end not too long ago, by a name or not. */
bool flows_knows(const struct flows *flows, const struct flow_key *key, uint64_t now);
/* A rule has gone, and with it what it opened. */
void flows_shut(struct flows *flows, uint8_t rule);

#endif
