/* SPDX-License-Identifier: MIT */
/*
 * The table of flows (connections), which never grows: buckets of 4 entries. Most entries only
 * record that the supervisor was told of the connection. In a full bucket a new connection takes
 * the place of the connection that was quiet for the longest time. So if a guest has more
 * connections at once than fit, the supervisor is told of each connection, and of some of them more
 * than once.
 *
 * A TCP SYN between the same ports as an earlier connection is a new connection if its sequence
 * number differs from that of the SYN before. After the end of the earlier connection it is another
 * connection even with the same number: a kernel draws a new number for each connection, but a
 * guest may have a TCP of its own.
 *
 * If there is a list of names, the table also has the connections that a name has opened. A frame
 * to a public address passes only if it belongs to such a connection, or opens one. It still passes
 * if the name has got another address meanwhile. The entries of such connections are replaced last.
 */
#ifndef NETGATE_FLOWS_H
#define NETGATE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "netgate/screen.h"

#define FLOW_WAYS 4
#define FLOW_BUCKETS 2048 /* a power of two */

enum flow_state {
	FLOW_TOLD,   /* no name has opened the flow: the supervisor only got a line about it */
	FLOW_OPEN,   /* a name has opened the flow, and its frames pass */
	FLOW_CALLED, /* a name has opened the flow, but its first words must be judged; the SYN has
		      * no answer yet */
	FLOW_SAYS,   /* a name has opened the flow, and its first words must be judged; the SYN has
		      * its answer, so the guest may send these words */
	FLOW_SHUT    /* the flow was in one of the three states above, and its frames pass no
		      * more */
};

/* The state of the line that reports a flow to the supervisor. If the flow is judged by its first
 * words, its line is sent when the words are known, since the words decide which rule lets the flow
 * through. */
enum flow_line {
	LINE_TOLD,
	LINE_WAITS,  /* the line waits for the first words */
	LINE_SILENT, /* a line was sent, which says that no words had come; words may still come */
};

struct flow {
	uint64_t seen; /* time in ns of the latest frame; 0: the entry is free */
	uint32_t address;
	uint16_t guest_port, port;
	uint8_t protocol;
	uint8_t refused;
	uint8_t state; /* enum flow_state */
	uint8_t rule;  /* the number of the rule that has opened the flow */
	/* The number of the flow's slot (openings.h) plus 1; 0: the flow has no slot. */
	uint8_t slot;
	bool has_said;	 /* words of the flow were kept; said is set */
	bool is_over;	 /* one side has ended the connection */
	uint8_t line;	 /* enum flow_line */
	uint32_t said;	 /* the sequence number at which the latest words that were kept begin */
	uint32_t start;	 /* the sequence number at which the guest's words begin; set from
			  * FLOW_CALLED on */
	uint32_t call;	 /* the sequence number of the latest SYN */
	uint64_t called; /* time in ns when `line` was last changed */
};

struct flows {
	/* A time in ns; if a flow was quiet for longer, its next frame is a new connection. */
	uint64_t idle_ns;
	uint64_t tcp_idle_ns; /* the same time for a TCP connection that a name has opened */
	uint64_t seed;	      /* random, so that no guest can know the bucket of a flow */
	uint64_t looked_at;   /* time in ns when flows without words were last looked for */
	unsigned waiting;     /* number of flows whose line waits */
	unsigned lost;	      /* number of flows whose line still waited when another flow took
			       * their place */
	struct flow table[FLOW_BUCKETS][FLOW_WAYS];
};

/* Returns the entry for the flow of a frame that may open a connection; makes one if there is none.
 * *is_new becomes true if the flow was not known, was quiet for too long, or is another connection
 * between the same ports. */
struct flow *flows_note(struct flows *flows, const struct flow_key *key, bool refused, uint64_t now,
			bool *is_new);
/* Returns a flow that a name has opened, also if it is shut by now. Returns NULL if there is no
 * such flow, or if it was quiet for too long. */
struct flow *flows_find(struct flows *flows, const struct flow_key *key, uint64_t now);
/* Returns true if the guest has sent a frame of this flow within idle_ns, whether a name has opened
 * the flow or not, and the flow is not shut. */
bool flows_knows(const struct flows *flows, const struct flow_key *key, uint64_t now);
/* Notes that one side has ended the connection. */
void flows_end(struct flows *flows, const struct flow_key *key);
/* Sets the state of the flow's line, at the time now. */
void flows_set_line(struct flows *flows, struct flow *flow, enum flow_line line, uint64_t now);
/* Shuts all flows that a rule has opened. Is called when the rule was removed. */
void flows_shut(struct flows *flows, uint8_t rule);

#endif
