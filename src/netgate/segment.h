/* SPDX-License-Identifier: MIT */
/* The contents of an IPv4 frame of either direction. */
#ifndef NETGATE_SEGMENT_H
#define NETGATE_SEGMENT_H

#include <stdbool.h>

#include "netgate/bytes.h"
#include "netgate/screen.h"

struct segment {
	uint8_t protocol;
	uint32_t from, to; /* addresses, in host byte order */
	uint16_t from_port, to_port;
	uint32_t sequence, acknowledged; /* of TCP, like the flags */
	unsigned flags;
	struct bytes payload;
};

/* Reads a segment. Returns false unless the frame is a whole TCP or UDP frame without options of
 * IPv4. */
bool segment_read(const uint8_t *frame, size_t len, struct segment *segment);
/* Returns the connection of a segment that goes to the guest, with the key of the guest's own
 * frames. */
struct flow_key segment_flow(const struct segment *segment);

#endif
