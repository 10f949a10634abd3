/* SPDX-License-Identifier: MIT */
/*
 * Connections, in a table that never grows: 4-way buckets. Most are only known to have been told
 * of; the newest takes the place of the one that was quiet longest, and a guest that opens more at
 * once than fit is told of more often than need be, never less.
 *
 * A call of TCP with another number than the one before is another connection of the same ports,
 * and so is one with the same number after an end: a kernel draws a new number each time, but a
 * guest may have a TCP of its own.
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

/* The state of the line on a flow. A connection that is judged by its first words has its line when
 * they are known, since only they tell which rule lets it through. */
enum flow_line {
	LINE_TOLD,
	LINE_WAITS,  /* for its first words */
	LINE_SILENT, /* the line says that there were none, but they may still come */
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
	bool is_over;	 /* one side has ended the connection */
	uint8_t line;	 /* enum flow_line */
	uint32_t said;	 /* where the latest words that were kept began */
	uint32_t start;	 /* where its words begin in the guest's stream; since FLOW_CALLED */
	uint32_t call;	 /* the number of the latest call */
	uint64_t called; /* ns, when the line began to wait */
};

struct flows {
	uint64_t idle_ns;     /* quiet for so long: the next is a new connection */
	uint64_t tcp_idle_ns; /* one that a name has opened is kept for so long */
	uint64_t seed;	      /* so that nobody can aim at a bucket */
	uint64_t looked_at;   /* ns, when connections that say nothing were last looked for */
	unsigned waiting;     /* lines that wait */
	unsigned lost;	      /* lines that waited when another flow took their place */
	struct flow table[FLOW_BUCKETS][FLOW_WAYS];
};

/* Notes the flow of a frame that may be its first as seen now. *is_new: it was not known, or is
 * another connection of the same ports. */
struct flow *flows_note(struct flows *flows, const struct flow_key *key, bool refused, uint64_t now,
			bool *is_new);
/* One that a name has opened, and not too long ago; NULL: it is none. */
struct flow *flows_find(struct flows *flows, const struct flow_key *key, uint64_t now);
/* Whether the guest has written to the flow's other end not too long ago, by a name or not. */
bool flows_knows(const struct flows *flows, const struct flow_key *key, uint64_t now);
/* Notes that one side has ended the connection. */
void flows_end(struct flows *flows, const struct flow_key *key);
/* Sets the state of the flow's line, which changes now. */
void flows_set_line(struct flows *flows, struct flow *flow, enum flow_line line, uint64_t now);
/* A rule has gone, and with it what it opened. */
void flows_shut(struct flows *flows, uint8_t rule);

#endif
