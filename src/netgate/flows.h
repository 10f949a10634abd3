/* SPDX-License-Identifier: MIT */
/*
 * The table of flows (connections). The table never grows: it has FLOW_BUCKETS buckets of 4
 * entries. Most entries only record that the supervisor was told of the connection. In a full
 * bucket a new connection replaces the connection that was quiet for the longest time. If a guest
 * has more connections at once than the table has room for, the supervisor is told of each
 * connection at least once, and of some connections again.
 *
 * A TCP SYN between the same ports as an earlier connection begins a new connection if its sequence
 * number differs from that of the latest SYN. If the earlier connection has ended, any SYN begins a
 * new connection. A kernel draws a new number for each connection, but a guest may have its own
 * TCP, which uses the same number again.
 *
 * If there is a list of names, the table also has the connections that a name has opened. A frame
 * to a public address passes only if it belongs to such a connection, or opens such a connection.
 * The frames of an open connection still pass if the name has got another address meanwhile. The
 * entries of such connections are replaced last.
 */
#ifndef NETGATE_FLOWS_H
#define NETGATE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "netgate/screen.h"

#define FLOW_WAYS 4
#define FLOW_BUCKETS 2048 /* number of buckets, a power of two */

enum flow_state {
	/* No name has opened the flow. The supervisor only got a line about it. */
	FLOW_TOLD,
	FLOW_OPEN,   /* a name has opened the flow, and its frames pass */
	FLOW_CALLED, /* A name has opened the flow, but its first words (the first bytes of its
		      * stream) must be judged. The SYN has no answer yet. */
	/* A name has opened the flow, and its first words (the first bytes of its stream) must be
	 * judged. The SYN has its answer, so the guest may send these words. */
	FLOW_SAYS,
	FLOW_SHUT /* the flow was FLOW_OPEN, FLOW_CALLED or FLOW_SAYS, and its frames pass no
		      * more */
};

/* The state of the line that reports a flow to the supervisor. Some flows are judged by their first
 * words (the first bytes of their streams). The line of such a flow is sent when the words are
 * known, since the words decide which rule lets the flow through. */
enum flow_line {
	LINE_TOLD,
	LINE_WAITS, /* the line is sent when the guest's first bytes have come */
	/* A line was sent which says that the guest has sent no bytes on the connection. Bytes may
	 * still come. */
	LINE_SILENT,
};

struct flow {
	uint64_t seen; /* time in ns of the latest frame of the flow; 0: the entry is free */
	uint32_t address;
	uint16_t guest_port, port;
	uint8_t protocol;
	uint8_t refused;
	uint8_t state; /* enum flow_state */
	uint8_t rule;  /* the number of the rule that has opened the flow */
	/* The index, plus 1, of the entry of struct openings that keeps the flow's first bytes; 0:
	 * there is no such entry. */
	uint8_t slot;
	bool has_said; /* bytes of the guest's stream were kept, so `said` is set */
	bool is_over;  /* the guest or its peer has ended the connection */
	uint8_t line;  /* enum flow_line */
	/* The sequence number at which the latest kept bytes of the guest's stream begin. */
	uint32_t said;
	/* The sequence number at which the guest's stream begins. This number is set from the state
	 * FLOW_CALLED on. */
	uint32_t start;
	uint32_t call;	 /* the sequence number of the latest SYN */
	uint64_t called; /* time in ns when `line` was last changed */
};

struct flows {
	/* The time in ns after which a quiet flow counts as over: its next frame is a new
	 * connection. */
	uint64_t idle_ns;
	uint64_t tcp_idle_ns; /* the same time for a TCP connection that a name has opened */
	uint64_t seed;	      /* random, so that no guest can know the bucket of a flow */
	uint64_t looked_at;   /* time in ns when flows without bytes of the guest were last looked
			       * for */
	unsigned waiting;     /* the number of flows whose line is LINE_WAITS */
	/* The number of flows that were replaced while their line was LINE_WAITS. */
	unsigned lost;
	struct flow table[FLOW_BUCKETS][FLOW_WAYS];
};

/* Returns the entry for the flow of a frame that may open a connection; makes an entry if there is
 * none. *is_new becomes true if the flow was not known, was quiet for too long, or is another
 * connection between the same ports. */
struct flow *flows_note(struct flows *flows, const struct flow_key *key, bool refused, uint64_t now,
			bool *is_new);
/* Returns a flow that a name has opened, even if the flow is shut by now. Returns NULL if there is
 * no such flow, or if it was quiet for too long. */
struct flow *flows_find(struct flows *flows, const struct flow_key *key, uint64_t now);
/* Returns true if the guest has sent a frame of this flow within idle_ns, and the flow is not shut.
 * A name need not have opened the flow. */
bool flows_knows(const struct flows *flows, const struct flow_key *key, uint64_t now);
/* Notes that the guest or its peer has ended the connection. */
void flows_end(struct flows *flows, const struct flow_key *key);
/* Sets the state of the flow's line. `now` is the time in ns of the change. */
void flows_set_line(struct flows *flows, struct flow *flow, enum flow_line line, uint64_t now);
/* Shuts all flows that a rule has opened. Is called after the rule was removed. */
void flows_shut(struct flows *flows, uint8_t rule);

#endif
