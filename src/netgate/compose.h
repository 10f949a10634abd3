/* SPDX-License-Identifier: MIT */
/* Frames of ours, made of one that was sent: on its way, or back to its sender. */
#ifndef NETGATE_COMPOSE_H
#define NETGATE_COMPOSE_H

#include <stdbool.h>

#include "netgate/bytes.h"

#define COMPOSE_BARE (ETHERNET_HEADER + IPV4_HEADER + TCP_HEADER) /* a segment without payload */
#define COMPOSE_DATAGRAM (ETHERNET_HEADER + IPV4_HEADER + UDP_HEADER) /* without its payload */
/* ICMP's message about a datagram: its own headers, and the front of the datagram (RFC 792). */
#define COMPOSE_QUOTED (IPV4_HEADER + 8)
#define COMPOSE_PROHIBITED (ETHERNET_HEADER + IPV4_HEADER + ICMP_HEADER + COMPOSE_QUOTED)
#define COMPOSE_SEGMENT_HEADERS (ETHERNET_HEADER + IPV4_HEADER + 60)

enum direction { ONWARD, BACK };

/* `like` is a sound frame of TCP, or of UDP, and no part of out. Each returns the length. */
size_t compose_reset(uint8_t *out, const uint8_t *like, enum direction direction, uint32_t sequence,
		     uint32_t acknowledged, unsigned flags);
/* For the sender: that all before `acknowledged` has come, and there is room for more. */
size_t compose_acknowledgement(uint8_t *out, const uint8_t *like, uint32_t sequence,
			       uint32_t acknowledged);
size_t compose_datagram(uint8_t *out, const uint8_t *like, enum direction direction,
			struct bytes payload);
/* For the sender of the frame, as if the destination said it: ICMP's "communication administratively
 * prohibited". 0 for a frame that is too short to be quoted. */
size_t compose_prohibited(uint8_t *out, const uint8_t *like, size_t len);
/* Puts another address into a frame of TCP without options of IPv4, in place. len: up to the end of
 * its payload. */
void compose_redirected(uint8_t *frame, size_t len, uint32_t to);
void compose_resent(uint8_t *frame, size_t len, uint32_t from);
/* The same headers with another place in the stream, and other bytes; as many as fit into IPv4. */
size_t compose_segment(uint8_t *out, const uint8_t *like, uint32_t sequence, struct bytes payload);

#endif
