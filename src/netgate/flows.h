/* SPDX-License-Identifier: MIT */
/*
 * Which connections have been told of, in a table that never grows: 4-way buckets, in which the
 * newest takes the place of the one that was quiet longest. A guest that opens more at once than
 * fit is told of more often than need be, never less.
 */
#ifndef NETGATE_FLOWS_H
#define NETGATE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "netgate/screen.h"

#define FLOW_WAYS 4
#define FLOW_BUCKETS 1024 /* a power of two */

struct flow {
	uint64_t seen; /* ns; 0: free */
	uint32_t address;
	uint16_t guest_port, port;
	uint8_t protocol;
	uint8_t refused;
};

struct flows {
	uint64_t idle_ns; /* quiet for so long: the next is a new connection */
	uint64_t seed;	  /* so that nobody can aim at a bucket */
	struct flow table[FLOW_BUCKETS][FLOW_WAYS];
};

/* Notes it as seen now; true when it is a new one. */
bool flows_note(struct flows *flows, const struct flow_key *key, bool refused, uint64_t now);

#endif
