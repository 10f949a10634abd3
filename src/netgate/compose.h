/* SPDX-License-Identifier: MIT */
/* Composes frames that netgate itself sends. A new frame takes its addresses and ports from a
 * received frame. The new frame goes in the same direction as the received frame, or back to its
 * sender. */
#ifndef NETGATE_COMPOSE_H
#define NETGATE_COMPOSE_H

#include <stdbool.h>

#include "netgate/bytes.h"

/* The size in bytes of a TCP frame, and of a UDP frame, without payload. */
#define COMPOSE_BARE (ETHERNET_HEADER + IPV4_HEADER + TCP_HEADER)
#define COMPOSE_DATAGRAM (ETHERNET_HEADER + IPV4_HEADER + UDP_HEADER)
/* An ICMP message about a datagram quotes the IPv4 header of the datagram and the 8 bytes behind it
 * (RFC 792). */
#define COMPOSE_QUOTED (IPV4_HEADER + 8)
#define COMPOSE_PROHIBITED (ETHERNET_HEADER + IPV4_HEADER + ICMP_HEADER + COMPOSE_QUOTED)
#define COMPOSE_SEGMENT_HEADERS (ETHERNET_HEADER + IPV4_HEADER + 60)

enum direction { ONWARD, BACK };

/* The functions below write a frame to `out` and return its length in bytes. `like` is the received
 * frame. `like` must be a sound frame of TCP or UDP, and must not overlap `out`. */
size_t compose_reset(uint8_t *out, const uint8_t *like, enum direction direction, uint32_t sequence,
		     uint32_t acknowledged, unsigned flags);
/* Composes a frame that tells the sender of `like` that all bytes before `acknowledged` have
 * arrived, and that the receiver has room for more. */
size_t compose_acknowledgement(uint8_t *out, const uint8_t *like, uint32_t sequence,
			       uint32_t acknowledged);
size_t compose_datagram(uint8_t *out, const uint8_t *like, enum direction direction,
			struct bytes payload);
/* Composes the ICMP message "communication administratively prohibited" for the sender of `like`,
 * as if the destination of `like` had sent the message. Returns the length of the frame; 0 if
 * `like`, which has `len` bytes, is too short to be quoted. */
size_t compose_prohibited(uint8_t *out, const uint8_t *like, size_t len);
/* Functions that change an address of a frame in place. The frame must be TCP over IPv4 without
 * options. compose_redirected() replaces the destination, compose_resent() the source. `len` is the
 * length of the frame up to the end of its payload. */
void compose_redirected(uint8_t *frame, size_t len, uint32_t to);
void compose_resent(uint8_t *frame, size_t len, uint32_t from);
/* Composes a TCP frame with the headers of `like`, but with another sequence number and another
 * payload. The payload must fit into an IPv4 packet. */
size_t compose_segment(uint8_t *out, const uint8_t *like, uint32_t sequence, struct bytes payload);

#endif
