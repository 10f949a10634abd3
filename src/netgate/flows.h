/* SPDX-License-Identifier: MIT */
/*
 * A table of connections that never grows: buckets of 4 entries. Most entries only record that the
 * connection was told of. A new connection takes the place of the one that was quiet longest. If a
 * guest opens more connections at once than fit, some are told of more often than necessary, never
 * less often.
 *
 * A TCP SYN with another sequence number than the one before is another connection of the same
 * ports. A SYN with the same number after an end is another connection too: a kernel draws a new
 * number each time, but a guest may have a TCP of its own.
 *
 * With a list of names, the table also holds the connections that a name has opened. A frame that
 * belongs to no such connection does not pass. A frame that does belong to one passes, although the
 * name may have another address by now. These entries are replaced last.
 */
#ifndef NETGATE_FLOWS_H
#define NETGATE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "netgate/screen.h"

#define FLOW_WAYS 4
#define FLOW_BUCKETS 2048 /* a power of two */

enum flow_state {
	FLOW_TOLD,   /* nothing but that it was told of */
	FLOW_OPEN,   /* open by a name */
	FLOW_CALLED, /* by a name, but its first words must be judged; no answer yet */
	FLOW_SAYS,   /* the same, but it has its answer, so that the guest may speak */
	FLOW_SHUT    /* it was one of the three states above */
};

/* The state of the line that tells of a flow. A connection that is judged by its first words gets
 * its line when they are known, since only the words tell which rule lets the connection
 * through. */
enum flow_line {
	LINE_TOLD,
	LINE_WAITS,  /* the line waits for the first words */
	LINE_SILENT, /* the line says that there were no words, but words may still come */
};

struct flow {
	uint64_t seen; /* ns, when a frame was last seen; 0: the entry is free */
	uint32_t address;
	uint16_t guest_port, port;
	uint8_t protocol;
	uint8_t refused;
	uint8_t state;
	uint8_t rule; /* the rule that opened the flow */
	uint8_t slot; /* the slot in openings.h; 0: none */
	bool has_said;
	bool is_over;	 /* one side has ended the connection */
	uint8_t line;	 /* enum flow_line */
	uint32_t said;	 /* where the latest words that were kept began */
	uint32_t start;	 /* where the guest's words begin in its stream; valid since FLOW_CALLED */
	uint32_t call;	 /* the sequence number of the latest SYN */
	uint64_t called; /* ns, when the line began to wait */
};

struct flows {
	uint64_t idle_ns;     /* after this quiet time the next frame is a new connection */
	uint64_t tcp_idle_ns; /* a connection that a name has opened is kept for this time */
	uint64_t seed;	      /* random: no guest can know the bucket of a flow */
	uint64_t looked_at;   /* ns, when connections that say nothing were last looked for */
	unsigned waiting;     /* how many lines wait */
	unsigned lost;	      /* how many lines still waited when another flow took their place */
	struct flow table[FLOW_BUCKETS][FLOW_WAYS];
};

/* Notes the flow of a frame that may open a connection, as seen now. Sets *is_new if the flow was
 * not known or is another connection of the same ports. */
struct flow *flows_note(struct flows *flows, const struct flow_key *key, bool refused, uint64_t now,
			bool *is_new);
/* Returns a flow that a name has opened and that is not idle for too long; NULL if there is
 * none. */
struct flow *flows_find(struct flows *flows, const struct flow_key *key, uint64_t now);
/* Returns true if the guest has written to the flow's other end not too long ago, by a name or
 * not. */
bool flows_knows(const struct flows *flows, const struct flow_key *key, uint64_t now);
/* Notes that one side has ended the connection. */
void flows_end(struct flows *flows, const struct flow_key *key);
/* Sets the state of the flow's line; now is the time of the change. */
void flows_set_line(struct flows *flows, struct flow *flow, enum flow_line line, uint64_t now);
/* Shuts all flows that the rule has opened, because the rule was removed. */
void flows_shut(struct flows *flows, uint8_t rule);

#endif
