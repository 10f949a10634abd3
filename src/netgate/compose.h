/* SPDX-License-Identifier: MIT */
/* Composes frames of our own from a frame that was sent: in the same direction, or back to its
 * sender. */
#ifndef NETGATE_COMPOSE_H
#define NETGATE_COMPOSE_H

#include <stdbool.h>

#include "netgate/bytes.h"

#define COMPOSE_BARE (ETHERNET_HEADER + IPV4_HEADER + TCP_HEADER)     /* without payload */
#define COMPOSE_DATAGRAM (ETHERNET_HEADER + IPV4_HEADER + UDP_HEADER) /* without its payload */
/* ICMP's message about a datagram quotes the datagram's own headers and its first bytes (RFC
 * 792). */
#define COMPOSE_QUOTED (IPV4_HEADER + 8)
#define COMPOSE_PROHIBITED (ETHERNET_HEADER + IPV4_HEADER + ICMP_HEADER + COMPOSE_QUOTED)
#define COMPOSE_SEGMENT_HEADERS (ETHERNET_HEADER + IPV4_HEADER + 60)

enum direction { ONWARD, BACK };

/* Compose a frame in out. `like` is a sound frame of TCP or UDP and must not overlap out. Each
 * function returns the length. */
size_t compose_reset(uint8_t *out, const uint8_t *like, enum direction direction, uint32_t sequence,
		     uint32_t acknowledged, unsigned flags);
/* Tells the sender of `like` that all bytes before `acknowledged` have arrived, and that there is
 * room for more. */
size_t compose_acknowledgement(uint8_t *out, const uint8_t *like, uint32_t sequence,
			       uint32_t acknowledged);
size_t compose_datagram(uint8_t *out, const uint8_t *like, enum direction direction,
			struct bytes payload);
/* Composes ICMP's message "communication administratively prohibited" for the sender of the frame,
 * as if the destination sent it. Returns the length; 0 if the frame is too short to be quoted. */
size_t compose_prohibited(uint8_t *out, const uint8_t *like, size_t len);
/* Replace an address in a frame of TCP (IPv4 without options) in place. len reaches to the end of
 * the payload. */
void compose_redirected(uint8_t *frame, size_t len, uint32_t to);
void compose_resent(uint8_t *frame, size_t len, uint32_t from);
/* Composes a frame with the same headers, another place in the stream and other bytes: as many
 * bytes as fit into IPv4. */
size_t compose_segment(uint8_t *out, const uint8_t *like, uint32_t sequence, struct bytes payload);

#endif
