/* SPDX-License-Identifier: MIT */
/* The contents of a TCP or UDP frame of IPv4, which comes from the guest or goes to it. */
#ifndef NETGATE_SEGMENT_H
#define NETGATE_SEGMENT_H

#include <stdbool.h>

#include "netgate/bytes.h"
#include "netgate/screen.h"

struct segment {
	uint8_t protocol;
	uint32_t from, to; /* addresses, in host byte order */
	uint16_t from_port, to_port;
	uint32_t sequence, acknowledged; /* only for TCP */
	unsigned flags;			 /* only for TCP */
	struct bytes payload;
};

/* Reads a segment. Returns false unless the frame is a whole TCP or UDP frame whose IPv4 header has
 * no options. */
bool segment_read(const uint8_t *frame, size_t len, struct segment *segment);
/* Returns the key of the connection of a segment that goes to the guest. The frames that the guest
 * sends on this connection have the same key. */
struct flow_key segment_flow(const struct segment *segment);

#endif
