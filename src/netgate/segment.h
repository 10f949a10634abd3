/* SPDX-License-Identifier: MIT */
/* What IPv4 carries in a frame of either direction. */
#ifndef NETGATE_SEGMENT_H
#define NETGATE_SEGMENT_H

#include <stdbool.h>

#include "netgate/bytes.h"
#include "netgate/screen.h"

struct segment {
	uint8_t protocol;
	uint32_t from, to; /* addresses, in host byte order */
	uint16_t from_port, to_port;
	uint32_t sequence, acknowledged; /* of TCP, and so are the flags */
	unsigned flags;
	struct bytes payload;
};

/* False: it is no whole frame of TCP or UDP without options of IPv4. */
bool segment_read(const uint8_t *frame, size_t len, struct segment *segment);
/* The connection of a segment for the guest, as the guest's own frames have it. */
struct flow_key segment_flow(const struct segment *segment);

#endif
